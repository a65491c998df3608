// What each program's words and variables ask the loop for. That its answers read as the program's
// own do is tests/dropin's.

#include <gmock/gmock.h>

#include <csignal>
#include <string>
#include <vector>

#include "init/dropin/dropin.h"

namespace {

using dropin::CommandGroup;
using dropin::Exit;
using dropin::InitFlavour;
using dropin::Program;
using dropin::Terminal;
using testing::HasSubstr;

using Words = std::vector<std::string>;
using Parser = std::expected<InitFlavour, Exit> (*)(const dropin::Input&);

// Owns the words that an InitFlavour points to.
class Call {
 public:
  Call(Parser parser, Words words, Words env = {}, pid_t pid = 1)
      : words_(std::move(words)), env_(std::move(env)) {
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    for (const std::string& entry : env_) environment_.push_back(entry.c_str());
    environment_.push_back(nullptr);
    result_ = parser({.argc = static_cast<int>(words_.size()),
                      .argv = argv_.data(),
                      .environment = environment_.data(),
                      .pid = pid});
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const InitFlavour& flavour() const { return result_.value(); }
  const Exit& exit() const { return result_.error(); }
  Words command() const {
    Words command;
    for (char** word = flavour().command; *word != nullptr; ++word) command.emplace_back(*word);
    return command;
  }

 private:
  Words words_;
  Words env_;
  std::vector<char*> argv_;
  std::vector<const char*> environment_;
  std::expected<InitFlavour, Exit> result_;
};

Call tini(Words words, const Words& env = {}) {
  words.insert(words.begin(), "tini");
  return {dropin::parse_tini, words, env};
}
Call dumb_init(Words words, const Words& env = {}) {
  words.insert(words.begin(), "dumb-init");
  return {dropin::parse_dumb_init, words, env};
}
Call catatonit(Words words, const Words& env = {}, pid_t pid = 1) {
  words.insert(words.begin(), "catatonit");
  return {dropin::parse_catatonit, words, env, pid};
}

TEST(ProgramOf, IsTheLastPartOfTheName) {
  EXPECT_EQ(dropin::program_of("tini"), Program::kTini);
  EXPECT_EQ(dropin::program_of("/usr/bin/tini-static"), Program::kTini);
  EXPECT_EQ(dropin::program_of("/sbin/docker-init"), Program::kTini);
  EXPECT_EQ(dropin::program_of("./dumb-init"), Program::kDumbInit);
  EXPECT_EQ(dropin::program_of("/usr/libexec/podman/catatonit"), Program::kCatatonit);
}

TEST(ProgramOf, KnowsNoOther) {
  for (const char* name : {"", "/", "tini/", "trainit", "-tini", "tini.sh", "Tini", "/tini/x"}) {
    EXPECT_EQ(dropin::program_of(name), std::nullopt) << name;
  }
}

TEST(Tini, SignalsItsChildAloneInANewForegroundGroup) {
  const Call call = tini({"prog"});
  EXPECT_EQ(call.flavour().command_group, CommandGroup::kNewGroup);
  EXPECT_EQ(call.flavour().terminal, Terminal::kStdin);
  EXPECT_FALSE(call.flavour().signal_group);
  EXPECT_TRUE(call.flavour().callers_signals);
  EXPECT_EQ(call.flavour().verbosity, 1);
}

TEST(Tini, DropsWhatStopsABackgroundGroup) {
  const Call call = tini({"prog"});
  EXPECT_EQ(call.flavour().send_as[SIGTTIN], 0);
  EXPECT_EQ(call.flavour().send_as[SIGTTOU], 0);
  EXPECT_EQ(call.flavour().send_as[SIGTSTP], InitFlavour::kAsItIs);
}

TEST(Tini, TakesItsOptions) {
  const Call call = tini({"-sgwvv", "-p", "SIGUSR1", "-e", "0", "-e255", "prog", "--", "-s"});
  EXPECT_TRUE(call.flavour().subreaper);
  EXPECT_TRUE(call.flavour().signal_group);
  EXPECT_TRUE(call.flavour().warn_on_reap);
  EXPECT_EQ(call.flavour().verbosity, 3);
  EXPECT_EQ(call.flavour().parent_death_signal, SIGUSR1);
  EXPECT_EQ(call.flavour().success.count(), 2U);
  EXPECT_TRUE(call.flavour().success[0]);
  EXPECT_TRUE(call.flavour().success[255]);
  EXPECT_EQ(call.command(), (Words{"prog", "-s"}));
}

TEST(Tini, TakesItsVariablesByPresence) {
  const Call call = tini({"prog"}, {"TINI_SUBREAPER=", "TINI_KILL_PROCESS_GROUP=0"});
  EXPECT_TRUE(call.flavour().subreaper);
  EXPECT_TRUE(call.flavour().signal_group);
  EXPECT_FALSE(tini({"prog"}, {"TINI_SUBREAPER_NOT=1", "XTINI_SUBREAPER=1"}).flavour().subreaper);
}

TEST(Tini, LetsTheVariableOfVerbosityWin) {
  EXPECT_EQ(tini({"-vvv", "prog"}, {"TINI_VERBOSITY=0"}).flavour().verbosity, 0);
  EXPECT_EQ(tini({"prog"}, {"TINI_VERBOSITY=3"}).flavour().verbosity, 3);
  EXPECT_GT(tini({"prog"}, {"TINI_VERBOSITY=-1"}).flavour().verbosity, 4);
}

TEST(Tini, NamesTheProcessInItsComplaints) {
  EXPECT_EQ(Call(dropin::parse_tini, {"tini", "-e", "256", "x"}, {}, 42).exit().err,
            "[FATAL tini (42)] Not a valid option for -e: 256\n");
}

TEST(DumbInit, LeadsASessionThatStopsWithIt) {
  const Call call = dumb_init({"prog"});
  EXPECT_EQ(call.flavour().command_group, CommandGroup::kNewSession);
  EXPECT_EQ(call.flavour().terminal, Terminal::kNewSession);
  EXPECT_TRUE(call.flavour().signal_group);
  EXPECT_TRUE(call.flavour().stop_like_command);
  EXPECT_TRUE(call.flavour().term_group_at_end);
  for (const int stop : {SIGTSTP, SIGTTIN, SIGTTOU}) {
    EXPECT_EQ(call.flavour().send_as[static_cast<std::size_t>(stop)], SIGSTOP);
  }
}

TEST(DumbInit, StaysInItsGroupWithASingleChild) {
  for (const Call& call :
       {dumb_init({"-c", "prog"}), dumb_init({"prog"}, {"DUMB_INIT_SETSID=0"})}) {
    EXPECT_EQ(call.flavour().command_group, CommandGroup::kOurGroup);
    EXPECT_EQ(call.flavour().terminal, Terminal::kLeave);
    EXPECT_FALSE(call.flavour().signal_group);
    EXPECT_EQ(call.flavour().send_as[SIGTSTP], InitFlavour::kAsItIs);
  }
}

TEST(DumbInit, RewritesSignals) {
  const Call call = dumb_init({"-r", "15:3", "--rewrite=1:0", "-r20:2", "prog"});
  EXPECT_EQ(call.flavour().send_as[SIGTERM], SIGQUIT);
  EXPECT_EQ(call.flavour().send_as[SIGHUP], 0);
  EXPECT_EQ(call.flavour().send_as[SIGTSTP], SIGINT);
  EXPECT_EQ(call.flavour().send_as[SIGTTIN], SIGSTOP);
}

TEST(DumbInit, DebugsByExactlyOne) {
  EXPECT_EQ(dumb_init({"prog"}, {"DUMB_INIT_DEBUG=1"}).flavour().verbosity, 1);
  EXPECT_EQ(dumb_init({"prog"}, {"DUMB_INIT_DEBUG=2"}).flavour().verbosity, 0);
  EXPECT_EQ(dumb_init({"-v", "prog"}).flavour().verbosity, 1);
}

TEST(DumbInit, LeavesTheDirectoryAndClearsSignals) {
  const Call call = dumb_init({"prog"});
  EXPECT_TRUE(call.flavour().leave_directory);
  EXPECT_FALSE(call.flavour().callers_signals);
}

TEST(Catatonit, AdoptsOrphansWhereItIsNotPid1) {
  EXPECT_FALSE(catatonit({"prog"}, {}, 1).flavour().subreaper);
  EXPECT_TRUE(catatonit({"prog"}, {}, 2).flavour().subreaper);
}

TEST(Catatonit, SendsNoTerminalStops) {
  const Call call = catatonit({"-g", "prog"});
  EXPECT_TRUE(call.flavour().signal_group);
  for (const int stop : {SIGTSTP, SIGTTIN, SIGTTOU}) {
    EXPECT_EQ(call.flavour().send_as[static_cast<std::size_t>(stop)], 0);
  }
}

TEST(Catatonit, StartsNothingInPause) {
  EXPECT_EQ(catatonit({"-P", "prog"}).flavour().command, nullptr);
  EXPECT_EQ(catatonit({"-P"}).flavour().command, nullptr);
}

TEST(Catatonit, KeepsNoDescriptorsAndMovesListenPid) {
  EXPECT_TRUE(catatonit({"prog"}).flavour().close_descriptors);
  EXPECT_TRUE(catatonit({"prog"}).flavour().move_listen_pid);
}

TEST(Exits, SayInWhosePlaceThisIs) {
  EXPECT_THAT(tini({"-l"}).exit().out, HasSubstr("trainit"));
  EXPECT_THAT(catatonit({"-L"}).exit().out, HasSubstr("trainit"));
  EXPECT_THAT(catatonit({"-h"}).exit().err, HasSubstr("trainit"));
}

}  // namespace
