#include "envgen/failure/python_dump.h"

#include <gtest/gtest.h>

#include "envgen/failure/python_hook.h"

namespace {

using envgen::collective_of;
using envgen::Frame;
using envgen::is_library;
using envgen::parse_python_dump;
using envgen::PythonThread;
using envgen::user_frame;

constexpr const char* kDump =
    "Thread 0x00007f6aacfa96c0 (most recent call first):\n"
    "  File \"/usr/lib/python3.11/threading.py\", line 320 in wait\n"
    "  File \"/work/train.py\", line 5 in log\n"
    "\n"
    "Current thread 0x00007f6aad2642c0 (most recent call first):\n"
    "  File \"/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py\", line 1541 in "
    "all_reduce\n"
    "  File \"/work/my, line 3 in/train.py\", line 8 in step\n"
    "  File \"/work/train.py\", line 20 in <module>\n";

PythonThread thread(std::vector<Frame> frames) { return {std::move(frames)}; }

TEST(PythonDump, HasTheMainThreadFirst) {
  const auto threads = parse_python_dump(kDump);
  ASSERT_EQ(threads.size(), 2U);
  ASSERT_EQ(threads[0].frames.size(), 3U);
  EXPECT_EQ(threads[0].frames[1], (Frame{"/work/my, line 3 in/train.py", 8, "step"}));
  EXPECT_EQ(threads[1].frames[1], (Frame{"/work/train.py", 5, "log"}));
}

TEST(PythonDump, OfTwoInOneFileIsThatOfEachThreadOnce) {
  const auto threads = parse_python_dump(std::string(kDump) + kDump);
  EXPECT_EQ(threads, parse_python_dump(kDump));
}

TEST(PythonDump, PassesOverWhatIsNone) {
  EXPECT_TRUE(parse_python_dump("").empty());
  EXPECT_TRUE(
      parse_python_dump("trainit signal 51 fd 900 rank 3\n  File \"a\", line 1 in b\n").empty());
  const auto threads = parse_python_dump(
      "Current thread 0x1 [main] (most recent call first):\n"
      "  Garbage-collecting\n"
      "  File \"a\x1b[1m.py\", line x in b\n"
      "  File \"b.py\", line 2\n"
      "  ...\n"
      "Current thread's C stack trace (most recent call first):\n"
      "  Binary file \"/usr/bin/python3\", at _Py_DumpStack+0x31 [0x41]\n"
      "  File \"c.py\", line 3 in c\n");
  ASSERT_EQ(threads.size(), 1U);
  ASSERT_EQ(threads[0].frames.size(), 1U) << "neither half a frame nor one of C's";
  EXPECT_EQ(threads[0].frames[0], (Frame{"a?[1m.py", 0, "b"}));
}

TEST(PythonDump, KnowsTheUsersCode) {
  EXPECT_TRUE(is_library("/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py"));
  EXPECT_TRUE(is_library("<frozen importlib._bootstrap>"));
  EXPECT_FALSE(is_library("/workspace/train.py"));
  EXPECT_FALSE(is_library("<string>"));
  const PythonThread deep = thread({{"/usr/lib/python3.11/re.py", 3, "match"},
                                    {"/workspace/train.py", 7, "clean"},
                                    {"/workspace/train.py", 9, "<module>"}});
  ASSERT_NE(user_frame(deep), nullptr);
  EXPECT_EQ(place_of(*user_frame(deep)), "train.py:7 in clean");
  EXPECT_EQ(place_of(deep.frames[2]), "train.py:9");
  EXPECT_EQ(user_frame(thread({})), nullptr);
}

TEST(PythonDump, KnowsACollectiveByItsInnermostFrames) {
  const std::string torch = "/opt/lib/python3.10/site-packages/torch/";
  const Frame user{"/workspace/train.py", 7, "step"};
  EXPECT_EQ(collective_of(thread({{torch + "distributed/distributed_c10d.py", 1, "all_reduce"},
                                  {torch + "distributed/c10d_logger.py", 2, "wrapper"},
                                  user})),
            "all_reduce");
  EXPECT_EQ(
      collective_of(thread({{torch + "distributed/distributed_c10d.py", 1, "all_gather"},
                            {torch + "distributed/distributed_c10d.py", 2, "all_gather_object"},
                            user})),
      "all_gather_object");
  EXPECT_EQ(collective_of(thread({{torch + "cuda/__init__.py", 5, "synchronize"}, user})),
            "synchronize");
  EXPECT_EQ(collective_of(thread({{torch + "cuda/__init__.py", 5, "is_available"}, user})),
            std::nullopt);
  EXPECT_EQ(collective_of(thread({user, {torch + "distributed/distributed_c10d.py", 1, "hook"}})),
            std::nullopt)
      << "a user's function that a collective calls";
  EXPECT_EQ(collective_of(thread({{"/usr/lib/python3.11/threading.py", 320, "wait"},
                                  {torch + "distributed/distributed_c10d.py", 1, "barrier"}})),
            "barrier");
  EXPECT_EQ(collective_of(thread({})), std::nullopt);
}

TEST(PythonHook, SaysWhichSignalAndDescriptorInItsFile) {
  const auto header = envgen::parse_dump_header("trainit signal 51 fd 900 rank 3\nThread 0x1");
  EXPECT_EQ(header.signal, 51);
  EXPECT_EQ(header.fd, 900);
  EXPECT_EQ(header.rank, 3);
  EXPECT_EQ(envgen::parse_dump_header("trainit signal 51 fd 900 rank -1\n").rank, -1);
  for (const char* text :
       {"", "trainit", "trainit signal 9 fd 3 rank 0\n", "trainit signal 51 fd -3 rank 0\n",
        "trainit signal 51 fd 3\n", "trainit signal 51 fd 3 rank x\n", "Thread 0x1\n"}) {
    EXPECT_EQ(envgen::parse_dump_header(text).signal, 0) << text;
  }
  EXPECT_NE(envgen::python_hook().find("signal = 51\n"), std::string::npos);
}

}  // namespace
