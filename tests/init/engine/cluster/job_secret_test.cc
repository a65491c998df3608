#include "init/engine/cluster/job_secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/init/child.h"

namespace {

using engine::JobSecret;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr unsigned kJob = 2000;
const std::string kSecret = "0123456789abcdef";

class JobSecretFile : public child::Scratch {
 protected:
  static base::Result<JobSecret> secret_of(const std::string& file,
                                           const std::string& ssh_key = "") {
    envgen::Request request;
    request.job_secret = file;
    request.ssh_key = ssh_key;
    const envgen::Identity job{.uid = kJob, .gid = kJob};
    return engine::read_job_secret(request, &job);
  }
  static std::string bytes_of(const std::string& file) {
    const auto secret = secret_of(file);
    return secret ? secret->bytes : to_line(secret.error());
  }
  static std::string error_of(const std::string& file) {
    const auto secret = secret_of(file);
    return secret ? "" : to_line(secret.error());
  }
  // As its node of Kubernetes mounts a Secret.
  void make_secret_volume(mode_t mode) const {
    ASSERT_EQ(::mkdir(path("volume").c_str(), 0755), 0);
    ASSERT_EQ(::chmod(path("volume").c_str(), 01777), 0);
    ASSERT_EQ(::mkdir(path("volume/..2026_11_23").c_str(), 0755), 0);
    write("volume/..2026_11_23/job", kSecret, mode);
    ASSERT_EQ(::symlink("..2026_11_23", path("volume/..data").c_str()), 0);
    ASSERT_EQ(::symlink("..data/job", path("volume/job").c_str()), 0);
  }
};

TEST_F(JobSecretFile, IsReadWithoutTheNewlinesAtItsEnd) {
  for (const char* end : {"", "\n", "\r\n", "\n\n"}) {
    EXPECT_EQ(bytes_of(write("secret", kSecret + end, 0600)), kSecret);
  }
  const std::string binary = std::string("\n\0\xff", 3) + kSecret;
  EXPECT_EQ(bytes_of(write("secret", binary, 0600)), binary);
  EXPECT_THAT(secret_of(path("secret"))->warning, IsEmpty());
}

TEST_F(JobSecretFile, IsElseThatOfTheSshKeyElseNone) {
  const std::string secret = write("secret", kSecret, 0600);
  const std::string key = write("key", "a private key of ssh", 0600);
  EXPECT_EQ(secret_of(secret, key)->bytes, kSecret);
  EXPECT_EQ(secret_of("", key)->bytes, "a private key of ssh");
  EXPECT_EQ(secret_of("")->bytes, "");
  EXPECT_EQ(secret_of("")->warning, "");
}

TEST_F(JobSecretFile, OfAKubernetesSecretIsFollowed) {
  make_secret_volume(0400);
  const auto secret = secret_of(path("volume/job"));
  ASSERT_TRUE(secret) << to_line(secret.error());
  EXPECT_EQ(secret->bytes, kSecret);
  EXPECT_THAT(secret->warning, IsEmpty());
}

TEST_F(JobSecretFile, ThatOthersMayReadIsAWarning) {
  for (const mode_t mode : {0604, 0640, 0644}) {
    const auto secret = secret_of(write("secret", kSecret, mode));
    ASSERT_TRUE(secret) << to_line(secret.error());
    EXPECT_EQ(secret->bytes, kSecret);
    EXPECT_THAT(secret->warning, AllOf(HasSubstr(path("secret") + " (owner"), HasSubstr("chmod")));
  }
}

TEST_F(JobSecretFile, IsReadByWayOfItsGroupWithoutAWarning) {
  if (!child::is_root()) GTEST_SKIP() << "gives a file to another group";
  make_secret_volume(0440);
  ASSERT_EQ(::chown(path("volume/..2026_11_23/job").c_str(), 0, 3000), 0);
  const auto outcome = child::run([this] {
    if (!child::become_nobody({3000})) return 1;
    const auto secret = secret_of(path("volume/job"));
    return secret && secret->bytes == kSecret && secret->warning.empty() ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(JobSecretFile, HasFrom16BytesTo64KiB) {
  EXPECT_THAT(error_of(write("secret", "0123456789abcde\n")),
              AllOf(HasSubstr("15 bytes"), HasSubstr("at least 16")));
  EXPECT_THAT(error_of(write("secret", "")), HasSubstr("0 bytes"));
  EXPECT_EQ(bytes_of(write("secret", std::string(65'536, 'x'))).size(), 65'536U);
  EXPECT_THAT(error_of(write("secret", std::string(65'537, 'x'))),
              HasSubstr("more than 65536 bytes"));
}

TEST_F(JobSecretFile, ThatIsNotThereOrNoFileIsAnError) {
  EXPECT_THAT(error_of(path("absent")),
              AllOf(HasSubstr("reading the job's secret: " + path("absent")), HasSubstr("ENOENT")));
  EXPECT_THAT(error_of(path("absent/secret")),
              AllOf(HasSubstr("reading the job's secret"), HasSubstr("No such file")));
  EXPECT_THAT(error_of(path(".")), HasSubstr("something else than a file"));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(error_of(path("fifo")), HasSubstr("something else than a file"));
}

TEST_F(JobSecretFile, ThatOthersMayWriteIsRefused) {
  for (const mode_t mode : {0602, 0606}) {
    EXPECT_THAT(error_of(write("secret", kSecret, mode)),
                AllOf(HasSubstr("others may change it"), HasSubstr("chmod go-w")));
  }
  ASSERT_EQ(::mkdir(path("open").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path("open").c_str(), 0777), 0);
  write("open/secret", kSecret, 0600);
  EXPECT_THAT(error_of(path("open/secret")), HasSubstr("others may change it by " + path("open")));
}

TEST_F(JobSecretFile, OfTheJobsUserOrBehindItsLinkIsRefused) {
  if (!child::is_root()) GTEST_SKIP() << "gives files to another user";
  write("secret", kSecret, 0600);
  write("theirs", kSecret, 0600);
  ASSERT_EQ(::chown(path("theirs").c_str(), kJob, kJob), 0);
  EXPECT_THAT(error_of(path("theirs")), HasSubstr("(owner 2000"));
  write("group", kSecret, 0660);
  ASSERT_EQ(::chown(path("group").c_str(), 0, kJob), 0);
  EXPECT_THAT(error_of(path("group")), HasSubstr("others may change it"));
  ASSERT_EQ(::mkdir(path("home").c_str(), 0755), 0);
  ASSERT_EQ(::chown(path("home").c_str(), kJob, kJob), 0);
  ASSERT_EQ(::symlink("../secret", path("home/link").c_str()), 0);
  EXPECT_THAT(error_of(path("home/link")),
              AllOf(HasSubstr("reading the job's secret"), HasSubstr("the link")));
}

TEST_F(JobSecretFile, OfTheSshKeyThatCannotBeUsedIsNoneAndAWarning) {
  const std::string key = write("key", kSecret, 0602);
  const auto secret = secret_of("", key);
  ASSERT_TRUE(secret);
  EXPECT_EQ(secret->bytes, "");
  EXPECT_THAT(secret->warning, AllOf(HasSubstr(key), HasSubstr("others may change it"),
                                     HasSubstr("going on without a secret")));
  EXPECT_THAT(secret_of("", path("absent"))->warning, HasSubstr("ENOENT"));
}

}  // namespace
