#include "init/engine/cluster/rendezvous.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "init/engine/cluster/meeting_link.h"
#include "init/proc/host_address.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace engine {
namespace {

using Kind = MeetingRecord::Kind;

constexpr std::int64_t kAskMs = 1000;  // whether the list of nodes is another one
constexpr std::int64_t kSayMs = 2000;
constexpr std::int64_t kConnectMs = 3000;
constexpr std::int64_t kAnswerMs = 10'000;  // of an end from which a record is due
constexpr std::int64_t kResolveMs = 5000;
constexpr std::int64_t kCloseMs = 3000;  // for the others to take the "go"
constexpr std::int64_t kFirstPauseMs = 100;
constexpr std::int64_t kMostPauseMs = 2000;
constexpr std::int64_t kPortPauseMs = 200;
constexpr std::size_t kMostStrangers = 256;
constexpr int kMostAccepts = 256;  // of one turn
constexpr std::size_t kMostNames = 8;
constexpr std::uint32_t kMostRestarts = 1'000'000;

constexpr const char* kMeeting = "meeting the other nodes before the start";

std::string seconds(std::int64_t duration_ms) { return std::to_string(duration_ms / 1000) + " s"; }

std::string of_nodes(std::size_t some, std::uint32_t all) {
  return std::to_string(some) + " of " + std::to_string(all) + " nodes";
}

// "another list of nodes", as the record of the other end shows by what it differs.
std::string mismatch(const MeetingRecord& theirs, const MeetingRecord& ours) {
  if (theirs.version != ours.version) return "another version of trainit";
  if (theirs.node_count != ours.node_count) {
    return "a list of " + std::to_string(theirs.node_count) + " nodes, and here are " +
           std::to_string(ours.node_count);
  }
  return theirs.cluster != ours.cluster ? "another list of nodes" : "";
}

// What both sides do while they wait: the time, the list of nodes, and what is said.
class Waiting {
 public:
  Waiting(const Meeting& meeting, const std::function<void(const std::string&)>& say,
          const std::function<bool()>& changed)
      : meeting_(meeting), say_(say), changed_(changed) {}

  [[nodiscard]] const Meeting& meeting() const { return meeting_; }

  [[nodiscard]] std::int64_t left_ms() const {
    return std::max<std::int64_t>(meeting_.deadline_ms - sys::monotonic_ms(), 0);
  }
  // Of a poll that is to last for `most_ms`.
  [[nodiscard]] int slice_ms(std::int64_t most_ms) const {
    return static_cast<int>(std::clamp<std::int64_t>(most_ms, 0, std::min(kAskMs, left_ms())));
  }
  [[nodiscard]] bool over() const { return left_ms() == 0; }

  [[nodiscard]] bool changed() {
    const std::int64_t now_ms = sys::monotonic_ms();
    if (now_ms - asked_ms_ < kAskMs) return false;
    const bool answer = changed_();
    asked_ms_ = sys::monotonic_ms();  // a look may take a while
    return answer;
  }

  void say(const std::string& reason) {
    const std::int64_t now_ms = sys::monotonic_ms();
    if (reason == said_ || (!said_.empty() && now_ms - said_ms_ < kSayMs)) return;
    said_ = reason;
    said_ms_ = now_ms;
    say_(reason);
  }

  [[nodiscard]] MeetingRecord record(Kind kind) const {
    MeetingRecord record;
    record.kind = kind;
    record.node_rank = static_cast<std::uint32_t>(meeting_.place.node_rank);
    record.node_count = static_cast<std::uint32_t>(meeting_.place.node_count);
    record.restarts = meeting_.restarts;
    record.cluster = meeting_.cluster;
    return record;
  }

  [[nodiscard]] std::string name_of(std::size_t rank) const {
    std::string number = "node " + std::to_string(rank);
    if (rank >= meeting_.names.size() || meeting_.names[rank].empty()) return number;
    const std::string& name = meeting_.names[rank];
    return name == number ? number : number + " (" + name + ")";
  }

 private:
  const Meeting& meeting_;
  const std::function<void(const std::string&)>& say_;
  const std::function<bool()>& changed_;
  std::int64_t asked_ms_ = sys::monotonic_ms();
  std::string said_;
  std::int64_t said_ms_ = 0;
};

// --- Node 0 ---

// All addresses of this node, of both families where the kernel has both.
int listen_at(int port, sys::Fd& listener) {
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    sys::Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = errno;
    if (!socket.valid()) continue;
    const int on = 1;
    const int off = 0;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in6 v6{};
    sockaddr_in v4{};
    v6.sin6_family = AF_INET6;
    v4.sin_family = AF_INET;
    v6.sin6_port = v4.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool is_v6 = family == AF_INET6;
    if (is_v6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const auto* address =
        is_v6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
    const socklen_t size = is_v6 ? sizeof v6 : sizeof v4;
    // Two that are bound with SO_REUSEADDR differ in listen only.
    if (::bind(socket.get(), address, size) == 0 && ::listen(socket.get(), SOMAXCONN) == 0) {
      listener = std::move(socket);
      return 0;
    }
    error = errno;
    if (error == EADDRINUSE || error == EACCES) return error;
  }
  return error;
}

// Each node keeps a connection, and a soft limit of 1024 is usual.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

class Host {
 public:
  explicit Host(Waiting& waiting)
      : waiting_(waiting),
        node_count_(static_cast<std::uint32_t>(std::max(waiting.meeting().place.node_count, 1))),
        here_(node_count_) {
    here_[0] = true;
    raise_descriptor_limit();
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    for (Guest& guest : guests_) guest.link.abort();
  }

  MeetingEnd run() {
    if (auto end = open()) return *end;
    while (true) {
      if (missing_ == 0 && all_ready()) return go();
      if (waiting_.changed()) return ClusterChanged{};
      if (waiting_.over()) return too_late();
      turn();
      say_who_is_missing();
    }
  }

 private:
  struct Guest {
    MeetingLink link;
    std::uint32_t node_rank = 0;  // 0: it has not said who it is
    std::uint32_t restarts = 0;
    std::int64_t deadline_ms = 0;  // of what is due from it; 0: nothing is
    bool refused = false;          // and is to close
    bool ready = false;
  };

  // The port may still be held by a process of the last incarnation.
  std::optional<MeetingEnd> open() {
    const int port = waiting_.meeting().place.port;
    const std::string where = "port " + std::to_string(port) + " of this node";
    while (true) {
      const int error = listen_at(port, listener_);
      if (error == 0) return std::nullopt;
      if (error != EADDRINUSE) {
        return MeetingFailed{
            125,
            {kMeeting, where, sys::errno_text(error), "choose another one with --master-port"}};
      }
      if (waiting_.changed()) return ClusterChanged{};
      if (waiting_.over()) {
        return MeetingFailed{
            124,
            {kMeeting, where,
             "that after " + seconds(waiting_.meeting().place.window_ms) +
                 " a process of the last start, or another one, still listens there",
             "see which one does (ss -ltnp) and end it, or choose another --master-port"}};
      }
      waiting_.say(where + ": a process of the last start, or another one, still listens there");
      ::poll(nullptr, 0, waiting_.slice_ms(kPortPauseMs));
    }
  }

  void turn() {
    std::vector<pollfd> waits = {{listener_.get(), POLLIN, 0}};
    std::int64_t next_ms = kAskMs;
    const std::int64_t before_ms = sys::monotonic_ms();
    for (const Guest& guest : guests_) {
      waits.push_back({guest.link.fd(), POLLIN, 0});
      if (guest.deadline_ms != 0) next_ms = std::min(next_ms, guest.deadline_ms - before_ms);
    }
    if (::poll(waits.data(), waits.size(), waiting_.slice_ms(next_ms)) < 0) return;
    const std::int64_t now_ms = sys::monotonic_ms();
    std::vector<bool> gone(guests_.size());
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      const bool late = guests_[i].deadline_ms != 0 && now_ms >= guests_[i].deadline_ms;
      gone[i] = late || (waits[i + 1].revents != 0 && !hear(guests_[i]));
    }
    drop(gone);
    if (waits[0].revents != 0) accept_all(now_ms);
    ask_or_tell(now_ms);
  }

  void accept_all(std::int64_t now_ms) {
    for (int i = 0; i < kMostAccepts; ++i) {
      sys::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.valid() && errno != EMFILE && errno != ENFILE) return;
      if (!socket.valid() || guests_.size() >= node_count_ + kMostStrangers) {
        if (!drop_oldest_stranger()) return;
      }
      if (!socket.valid()) continue;
      Guest guest{.link = MeetingLink(std::move(socket))};
      guest.deadline_ms = now_ms + kAnswerMs;
      if (guest.link.send(waiting_.record(Kind::kGreeting))) guests_.push_back(std::move(guest));
    }
  }

  bool drop_oldest_stranger() {
    auto oldest = std::ranges::find(guests_, 0U, &Guest::node_rank);
    if (oldest == guests_.end()) return false;
    oldest->link.abort();
    guests_.erase(oldest);
    return true;
  }

  // False: the connection is of no use any more.
  bool hear(Guest& guest) {
    MeetingRecord record;
    const MeetingLink::Read read = guest.link.read(record);
    if (read == MeetingLink::Read::kNothing) return true;
    if (read != MeetingLink::Read::kRecord || guest.refused) return false;
    if (guest.node_rank == 0) return record.kind == Kind::kHello && welcome(guest, record);
    if (record.kind != Kind::kReady) return false;
    guest.ready = true;
    guest.deadline_ms = 0;
    return true;
  }

  bool welcome(Guest& guest, const MeetingRecord& hello) {
    const std::string differs = mismatch(hello, waiting_.record(Kind::kGreeting));
    if (!differs.empty()) {
      constexpr std::size_t kMostComplaints = 64;
      if (complaints_.size() < kMostComplaints) complaints_[hello.node_rank] = differs;
      guest.refused = true;
      guest.deadline_ms = sys::monotonic_ms() + kAnswerMs;
      return guest.link.send(waiting_.record(Kind::kRefused));
    }
    if (hello.node_rank == 0 || hello.node_rank >= node_count_) return false;
    if (hello.restarts > kMostRestarts) return false;
    // It has come again: the old connection is of its last life.
    for (Guest& other : guests_) {
      if (other.node_rank != hello.node_rank) continue;
      other.node_rank = 0;
      other.refused = true;
      other.deadline_ms = 1;  // long ago
      all_again();
    }
    complaints_.erase(hello.node_rank);
    if (!here_[hello.node_rank]) --missing_;
    here_[hello.node_rank] = true;
    guest.node_rank = hello.node_rank;
    guest.restarts = hello.restarts;
    guest.deadline_ms = 0;
    news_ = true;
    return true;
  }

  // A node is missing again: that the others were ready says nothing about later.
  void all_again() {
    asked_ = false;
    news_ = true;
    for (Guest& guest : guests_) guest.ready = false;
  }

  void drop(const std::vector<bool>& gone) {
    for (std::size_t i = gone.size(); i-- > 0;) {
      if (!gone[i]) continue;
      const std::uint32_t rank = guests_[i].node_rank;
      guests_[i].link.abort();
      guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
      if (rank == 0) continue;
      here_[rank] = false;
      ++missing_;
      all_again();
    }
  }

  // Asks whether they are still there when all are; tells how many are missing when not, at most
  // once in two seconds: ten thousand of them do not come in one moment.
  void ask_or_tell(std::int64_t now_ms) {
    const bool ask = missing_ == 0 && !asked_;
    const bool tell = missing_ > 0 && news_ && now_ms - told_ms_ >= kSayMs;
    if (!ask && !tell) return;
    MeetingRecord record = waiting_.record(ask ? Kind::kReady : Kind::kHere);
    record.missing = missing_;
    asked_ = ask;
    news_ = false;
    if (tell) told_ms_ = now_ms;
    std::vector<bool> gone(guests_.size());
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      Guest& guest = guests_[i];
      if (guest.node_rank == 0) continue;
      gone[i] = !guest.link.send(record);
      if (ask) guest.deadline_ms = now_ms + kAnswerMs;
    }
    drop(gone);
  }

  [[nodiscard]] bool all_ready() const {
    return std::ranges::all_of(
        guests_, [](const Guest& guest) { return guest.node_rank == 0 || guest.ready; });
  }

  MeetingEnd go() {
    Met met{waiting_.meeting().restarts};
    for (const Guest& guest : guests_) {
      if (guest.node_rank != 0) met.restarts = std::max(met.restarts, guest.restarts);
    }
    listener_.reset();
    MeetingRecord record = waiting_.record(Kind::kGo);
    record.restarts = met.restarts;
    std::vector<pollfd> waits;
    for (Guest& guest : guests_) {
      if (guest.node_rank != 0 && guest.link.send(record)) {
        waits.push_back({guest.link.fd(), POLLIN, 0});
      }
    }
    await_ends(waits);
    return met;
  }

  // They close first, so that what waits for late packets (TIME_WAIT) is on their side, and the
  // job's own listener gets the port even if it does not ask for reuse.
  static void await_ends(std::vector<pollfd>& waits) {
    const std::int64_t deadline_ms = sys::monotonic_ms() + kCloseMs;
    while (!waits.empty()) {
      const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
      if (left_ms <= 0 || ::poll(waits.data(), waits.size(), static_cast<int>(left_ms)) <= 0) {
        return;
      }
      std::erase_if(waits, [](const pollfd& wait) { return wait.revents != 0; });
    }
  }

  // "node 1 (b), node 2 (c): node 2 has another list of nodes"
  [[nodiscard]] std::string who_is_missing() const {
    std::string text;
    std::size_t count = 0;
    for (std::size_t rank = 0; rank < here_.size(); ++rank) {
      if (here_[rank] || ++count > kMostNames) continue;
      text += (count == 1 ? "" : ", ") + waiting_.name_of(rank);
    }
    if (count > kMostNames) text += " and " + std::to_string(count - kMostNames) + " more";
    if (complaints_.empty()) return text;
    const auto& [rank, differs] = *complaints_.begin();
    return text + "; node " + std::to_string(rank) + " came with " + differs;
  }

  void say_who_is_missing() {
    // Those that come at once need no word.
    if (missing_ == 0 || sys::monotonic_ms() - start_ms_ < kAskMs) return;
    waiting_.say(of_nodes(missing_, node_count_) + " before the start: " + who_is_missing());
  }

  [[nodiscard]] MeetingEnd too_late() const {
    return MeetingFailed{
        124,
        {kMeeting, who_is_missing(),
         "that " + of_nodes(missing_, node_count_) + " did not come within " +
             seconds(waiting_.meeting().place.window_ms),
         "a node comes when its own part of the job has ended: see why these have not, or whether "
         "they run at all and restart too (--max-restarts); raise --restart-window if they need "
         "longer"}};
  }

  Waiting& waiting_;
  std::uint32_t node_count_;
  std::vector<bool> here_;  // by rank
  std::uint32_t missing_ = node_count_ - 1;
  sys::Fd listener_;
  std::vector<Guest> guests_;
  std::map<std::uint32_t, std::string> complaints_;  // by rank
  bool asked_ = false;
  bool news_ = false;
  std::int64_t told_ms_ = 0;
  std::int64_t start_ms_ = sys::monotonic_ms();
};

// --- The others ---

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;  // 0: it is none
};

SocketAddress socket_address(const std::string& text, int port) {
  SocketAddress address;
  const auto number = htons(static_cast<std::uint16_t>(port));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = number;
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    std::memcpy(&address.bytes, &v4, sizeof v4);
    address.size = sizeof v4;
    return address;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = number;
  const std::size_t zone = text.find('%');
  if (zone != std::string::npos) v6.sin6_scope_id = ::if_nametoindex(text.c_str() + zone + 1);
  if (::inet_pton(AF_INET6, text.substr(0, zone).c_str(), &v6.sin6_addr) == 1) {
    std::memcpy(&address.bytes, &v6, sizeof v6);
    address.size = sizeof v6;
  }
  return address;
}

// A connection to a free port in the range of ephemeral ones may meet itself, and would then hold
// the port that it looks for.
bool is_own_reflection(int fd) {
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t own_size = sizeof own;
  socklen_t peer_size = sizeof peer;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
         own_size == peer_size && std::memcmp(&own, &peer, own_size) == 0;
}

class Visitor {
 public:
  Visitor(Waiting& waiting, const envgen::Environ& env) : waiting_(waiting), env_(env) {
    const envgen::Rendezvous& place = waiting.meeting().place;
    host_ = waiting.name_of(0) + " at " + place.address + " port " + std::to_string(place.port);
  }

  MeetingEnd run() {
    std::int64_t pause_ms = kFirstPauseMs;
    while (true) {
      if (auto end = attempt()) return *end;
      for (const std::int64_t until_ms = sys::monotonic_ms() + pause_ms;;) {
        if (auto end = interrupted()) return *end;
        const std::int64_t left_ms = until_ms - sys::monotonic_ms();
        if (left_ms <= 0) break;
        ::poll(nullptr, 0, waiting_.slice_ms(left_ms));
      }
      waiting_.say(host_ + ": " + why_);
      pause_ms = std::min(pause_ms * 3 / 2, kMostPauseMs);
    }
  }

 private:
  std::optional<MeetingEnd> interrupted() {
    if (waiting_.changed()) return ClusterChanged{};
    if (waiting_.over()) return too_late();
    return std::nullopt;
  }

  // Nothing: once more.
  std::optional<MeetingEnd> attempt() {
    const envgen::Rendezvous& place = waiting_.meeting().place;
    auto found =
        proc::find_addresses(place.address, env_, std::min(kResolveMs, waiting_.left_ms() + 1));
    if (!found) {
      envgen::Error error = found.error();
      error.what = std::string(kMeeting) + ": " + error.what;
      return MeetingFailed{125, std::move(error)};
    }
    if (found->addresses.empty()) why_ = found->why;
    for (const std::string& text : found->addresses) {
      if (auto end = interrupted()) return end;
      sys::Fd socket = connect(socket_address(text, place.port));
      if (!socket.valid()) continue;
      why_ = "no answer yet";
      MeetingLink link(std::move(socket));
      auto end = talk(link);
      // Only after a "go" there is something that may still be on its way.
      if (end && std::holds_alternative<Met>(*end)) {
        link.close();
      } else {
        link.abort();
      }
      return end;
    }
    return std::nullopt;
  }

  sys::Fd connect(const SocketAddress& address) {
    why_ = "no address of a known kind";
    if (address.size == 0) return {};
    sys::Fd socket(
        ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* name = reinterpret_cast<const sockaddr*>(&address.bytes);
    int error = socket.valid() && ::connect(socket.get(), name, address.size) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      pollfd ready{socket.get(), POLLOUT, 0};
      const std::int64_t limit_ms = std::min(kConnectMs, waiting_.left_ms() + 1);
      if (::poll(&ready, 1, static_cast<int>(limit_ms)) != 1) {
        why_ = "no answer within " + seconds(kConnectMs);
        return {};
      }
      socklen_t size = sizeof error;
      if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    }
    if (error == 0 && !is_own_reflection(socket.get())) return socket;
    why_ = sys::errno_text(error == 0 ? ECONNREFUSED : error);
    if (error == 0) MeetingLink(std::move(socket)).abort();
    return {};
  }

  std::optional<MeetingEnd> talk(MeetingLink& link) {
    std::int64_t deadline_ms = sys::monotonic_ms() + kAnswerMs;
    bool noted = false;
    while (true) {
      if (auto end = interrupted()) return end;
      const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
      if (!noted && left_ms <= 0) return again(kNoTrainit);
      if (noted) waiting_.say(host_ + ": " + why_);
      pollfd ready{link.fd(), POLLIN, 0};
      ::poll(&ready, 1, waiting_.slice_ms(noted ? kAskMs : left_ms));
      MeetingRecord record;
      switch (link.read(record)) {
        case MeetingLink::Read::kNothing:
          continue;
        case MeetingLink::Read::kLost:
          return again(noted ? "the connection was lost" : kNoTrainit);
        case MeetingLink::Read::kStranger:
          return again(kNoTrainit);
        case MeetingLink::Read::kRecord:
          break;
      }
      switch (record.kind) {
        case Kind::kGreeting:
          if (!link.send(waiting_.record(Kind::kHello))) return again("the connection was lost");
          noted = true;  // from here on node 0 may take its time, and a lost one is noticed
          break;
        case Kind::kHere:
          why_ = "it waits for " + of_nodes(record.missing, record.node_count);
          break;
        case Kind::kReady:
          if (!link.send(waiting_.record(Kind::kReady))) return again("the connection was lost");
          break;
        case Kind::kRefused:
          return again("it has " + mismatch(record, waiting_.record(Kind::kHello)));
        case Kind::kGo:
          return Met{std::max(record.restarts, waiting_.meeting().restarts)};
        case Kind::kHello:
          return again(kNoTrainit);
      }
    }
  }

  std::nullopt_t again(std::string why) {
    why_ = std::move(why);
    return std::nullopt;
  }

  [[nodiscard]] MeetingEnd too_late() const {
    return MeetingFailed{
        124,
        {kMeeting, host_,
         "that it did not say go within " + seconds(waiting_.meeting().place.window_ms) + ": " +
             why_,
         "node 0 says go when all nodes have come, and a node comes when its own part of the job "
         "has ended: see why it has not, or whether it runs at all and restarts too "
         "(--max-restarts); raise --restart-window if it needs longer"}};
  }

  static constexpr const char* kNoTrainit =
      "something else listens there: a process of the last start?";

  Waiting& waiting_;
  const envgen::Environ& env_;
  std::string host_;
  std::string why_ = "not reached yet";
};

}  // namespace

MeetingEnd meet(const Meeting& meeting, const envgen::Environ& env,
                const std::function<void(const std::string&)>& say,
                const std::function<bool()>& changed) {
  Waiting waiting(meeting, say, changed);
  if (meeting.place.node_rank == 0) return Host(waiting).run();
  return Visitor(waiting, env).run();
}

}  // namespace engine
