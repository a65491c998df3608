// Dockerfile.gpu and Dockerfile.ascend, built on images of Debian with the real engines.

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/cluster/cluster.h"
#include "tests/source_path.h"

namespace cluster {
namespace {

using docker::Container;
using docker::Program;
using docker::run_program;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

docker::Output build_by_buildkit(Image image, const std::string& name) {
  return build_image(image, name, {"env", "DOCKER_BUILDKIT=1", "PATH=/usr/bin:/bin", "docker"});
}
// True if this docker program builds with BuildKit only by its plugin, which is missing.
bool lacks_buildkit(const docker::Output& built) {
  return built.code != 0 && built.text.find("buildx component is missing") != std::string::npos;
}

class Dockerfile : public ClusterTest, public testing::WithParamInterface<Image> {
 protected:
  static std::string run(const Words& flags, const std::string& script) {
    const Container container(flags, {"sh", "-c", script}, {.image = tag_of(GetParam())});
    EXPECT_EQ(container.wait(), 0) << container.logs();
    return container.logs();
  }
};

TEST_P(Dockerfile, StartsACommandAsTheUserOfModelArts) {
  EXPECT_THAT(run({}, "echo $(id -u):$(id -g):$(id -un):$HOME; test . -ef $HOME && touch mine"),
              HasSubstr("1000:100:ma-user:/home/ma-user\n"));
}

TEST_P(Dockerfile, RunsAsRootAndOnAReadOnlyRoot) {
  EXPECT_THAT(run({"--user=0"}, "id -u; ! touch /etc/x || rm /etc/x"), HasSubstr("0\n"));
  EXPECT_THAT(run({"--read-only"}, "touch /home/ma-user/x || echo refused"), HasSubstr("refused"));
  // A command is started before the state is written.
  EXPECT_THAT(run({"--read-only", "--user=0", "--tmpfs=/run"},
                  "until [ -e /run/trainit/state.json ]; do :; done; ls /run/trainit"),
              HasSubstr("state.json"));
}

// Whatever the base has of that kind, which is not ours to judge.
TEST_P(Dockerfile, AddsNoKeyAndNothingThatAllMayWrite) {
  auto found_in = [](Image image) {
    const Container container(
        {"--user=0", "--entrypoint=find"},
        {"/", "-xdev", "(", "-name", "ssh_host_*", "-o", "-name", "id_*", "-o", "-name",
         "authorized_keys", "-o", "-perm", "-0002", "!", "-type", "l", ")"},
        {.image = tag_of(image)});
    EXPECT_EQ(container.wait(), 0);
    std::istringstream lines(container.logs());
    std::set<std::string> found;
    for (std::string line; std::getline(lines, line);) found.insert(line);
    return found;
  };
  const std::set<std::string> before = found_in(base_of(GetParam()));
  std::vector<std::string> added;
  std::ranges::set_difference(found_in(GetParam()), before, std::back_inserter(added));
  EXPECT_THAT(before, Contains("/tmp"));
  EXPECT_THAT(added, IsEmpty());
}

// BuildKit is in Debian's dockerd, and asked for by a docker program of its age or one with buildx.
TEST_P(Dockerfile, IsTheSameByBuildKit) {
  const std::string name = docker::unique_name();
  const docker::Output built = build_by_buildkit(GetParam(), name);
  if (lacks_buildkit(built)) GTEST_SKIP() << built.text;
  ASSERT_EQ(built.code, 0) << built.text;
  auto files_of = [](const std::string& image) {
    const Container container({"--user=0", "--entrypoint=find"},
                              {"/usr", "/etc", "/home", "-printf", "%m %U:%G %s %l %p\n"},
                              {.image = image});
    EXPECT_EQ(container.wait(), 0);
    return container.logs();
  };
  const bool same = files_of(name) == files_of(tag_of(GetParam()));
  auto config_of = [](const std::string& image) {
    const std::string format =
        "{{.Config.User}} {{.Config.Env}} {{.Config.Entrypoint}} "
        "{{.Config.Healthcheck}} {{.Config.Labels}} {{.Config.WorkingDir}}";
    return run_program({"docker", "image", "inspect", "--format", format, image}).text;
  };
  EXPECT_TRUE(same);
  EXPECT_EQ(config_of(name), config_of(tag_of(GetParam())));
  run_program({"docker", "rmi", "-f", name});
}

TEST_P(Dockerfile, SaysWhatItIs) {
  const std::string title = R"({{index .Config.Labels "org.opencontainers.image.title"}})";
  EXPECT_THAT(run_program({"docker", "inspect", "--format", title, tag_of(GetParam())}).text,
              HasSubstr("training image with trainit"));
}

TEST_P(Dockerfile, HasHooksAHealthCheckAndAHint) {
  EXPECT_THAT(run({}, "ls /etc/trainit/hooks"), HasSubstr("pre-start.d"));
  const Container container({}, {"sleep", "1000"}, {.image = tag_of(GetParam())});
  EXPECT_THAT(container.inspect("{{.Config.Healthcheck.Test}}"), HasSubstr("trainit status"));
  ASSERT_TRUE(docker::Program({"docker", "exec", container.name(), "trainit", "status", "--watch"})
                  .await("phase running"));
  EXPECT_EQ(container.exec({"trainit", "status"}).code, 0);
  const Container without({}, {}, {.image = tag_of(GetParam())});
  EXPECT_EQ(without.wait(), 125);
  EXPECT_THAT(without.logs(), HasSubstr("give the training command"));
}

// The engine asks, as the container's user, on a read-only root: the state is in /dev/shm.
TEST_P(Dockerfile, TurnsHealthyAndUnhealthy) {
  const Words flags = {"--read-only", "--health-interval=200ms", "--health-retries=1", "-e",
                       "TRAINIT_HOLD=1h"};
  auto becomes = [&flags](const Words& command, const std::string& health) {
    const Container container(flags, command, {.image = tag_of(GetParam())});
    Program events({"docker", "events", "--since=1m", "--filter=event=health_status",
                    "--filter=container=" + container.name()});
    EXPECT_TRUE(events.await("health_status: " + health)) << container.logs();
    EXPECT_EQ(container.inspect("{{.State.Status}}"), "running");
  };
  becomes({"sleep", "1000"}, "healthy");
  becomes({"sh", "-c", "exit 3"}, "unhealthy");
}

// Without MODELARTS=1.
TEST_F(ClusterTest, ADockerfileKeepsUserDirectoryAndHomeOfTheBase) {
  const Container kept({}, {"sh", "-c", "echo $(id -u):$(id -g) $PWD $HOME $MINE; id -un"},
                       {.image = tag_of(Image::kKept)});
  kept.wait();
  EXPECT_THAT(kept.logs(), HasSubstr("1234:100 /app /data 1\n"));
  EXPECT_THAT(kept.logs(), Not(HasSubstr("ma-user")));
}

TEST_F(ClusterTest, ADockerfileKeepsThemByBuildKit) {
  const std::string name = docker::unique_name();
  const docker::Output built = build_by_buildkit(Image::kKept, name);
  if (lacks_buildkit(built)) GTEST_SKIP() << built.text;
  ASSERT_EQ(built.code, 0) << built.text;
  const std::string format = "{{.Config.User}} {{.Config.WorkingDir}} {{.Config.Env}}";
  EXPECT_THAT(run_program({"docker", "image", "inspect", "--format", format, name}).text,
              AllOf(HasSubstr("1234:100 /app"), HasSubstr("HOME=/data MINE=1")));
  run_program({"docker", "rmi", "-f", name});
}

// The base has a CMD, which an ENTRYPOINT drops.
TEST_F(ClusterTest, AnImageWithoutACommandSaysHowToGiveIt) {
  const Container without({}, {}, {.image = tag_of(Image::kKept)});
  EXPECT_EQ(without.wait(), 125);
  EXPECT_THAT(without.logs(),
              AllOf(HasSubstr("give the training command: docker run IMAGE python3 train.py"),
                    HasSubstr("CMD")));
}

// The tarball's folder in the place of the sources.
TEST_F(ClusterTest, ADockerfileBuildsFromAnUnpackedRelease) {
  const docker::Scratch context;
  const std::string source = source_path("");
  const std::string name = docker::unique_name();
  const docker::Output made = run_program(
      {"sh", "-ec",
       "mkdir -p $0/bin $0/share/trainit; cp $1 $0/bin/trainit; cp -r $2/images $2/hooks "
       "$2/Dockerfile.gpu $0/share/trainit/; exec env DOCKER_BUILDKIT=0 docker build "
       "--network=none "
       "--tag $3 -f $0/share/trainit/Dockerfile.gpu --build-arg=BASE_IMAGE=$4 "
       "--build-arg=BUILD_IMAGE=$4 --build-arg=WITH_SSHD=0 $0",
       context.path(""), getenv("TRAINIT_BINARY"), source, name, tag_of(Image::kMpi)});
  ASSERT_EQ(made.code, 0) << made.text;
  {
    const Container container({}, {"sh", "-c", "cat /proc/1/comm; ls /etc/trainit/hooks"},
                              {.image = name});
    EXPECT_EQ(container.wait(), 0);
    EXPECT_THAT(container.logs(), AllOf(HasSubstr("trainit\n"), HasSubstr("pre-start.d")));
  }
  run_program({"docker", "rmi", "-f", name});
}

// Of base images that know the name already.
class PrepareImage : public ClusterTest {
 protected:
  static std::string prepare(const std::string& before, const std::string& behind) {
    const std::string script = source_path("images/prepare-image");
    const Container container(
        {"--user=0", "--entrypoint=sh", "--volume=" + script + ":/prepare-image:ro"},
        {"-c", before + " && /prepare-image; " + behind}, {.image = tag_of(Image::kMpi)});
    container.wait();
    return container.logs();
  }
};

TEST_F(PrepareImage, GivesTheUserTheGroupOfModelArts) {
  EXPECT_THAT(prepare("usermod -l ma-user $(id -nu 1000)", "id ma-user"),
              HasSubstr("uid=1000(ma-user) gid=100(users)"));
}

TEST_F(PrepareImage, NamesTheUserThatHasTheName) {
  EXPECT_THAT(prepare("useradd -u 1500 ma-user", "echo exit code $?"),
              AllOf(HasSubstr("ma-user is uid 1500 here"), HasSubstr("exit code 1")));
}

INSTANTIATE_TEST_SUITE_P(Both, Dockerfile, testing::Values(Image::kAscend, Image::kGpu),
                         [](const auto& of) {
                           return of.param == Image::kAscend ? "Ascend" : "Gpu";
                         });

}  // namespace
}  // namespace cluster
