#include "envgen/failure/recorder_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/wire.h"

namespace {

using envgen::PendingOperation;
using envgen::read_recorder_dump;
using envgen::RecorderDump;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kConfig = R"("pg_config": {"0": {"name": "0", "desc": "default_pg",
  "ranks": "[0, 1, 2, 3]"}, "7": {"name": "7", "desc": "PIPELINE", "ranks": "[1, 3]"}})";

// Rank 1's dump.
RecorderDump dump_of(const std::string& json) {
  auto dump = read_recorder_dump(json, 1, "/d/trace_1", 1'700'000'000'000);
  EXPECT_TRUE(dump) << to_line(dump.error());
  return dump ? *dump : RecorderDump();
}

std::string dump_with(const std::string& entries, const std::string& status = "{}") {
  return R"({"version": "2.4", )" + kConfig + R"(, "pg_status": )" + status + R"(, "entries": [)" +
         entries + "]}";
}

std::string entry(const std::string& rest) {
  return R"({"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 5,
    "p2p_seq_id": 0, "is_p2p": false, "profiling_name": "nccl:_all_gather_base",
    "time_created_ns": 1699999000123456789, "input_sizes": [[2, 3], [4]],
    "output_sizes": [[20]], "state": "scheduled", "retired": false)" +
         (rest.empty() ? "" : ", " + rest) + "}";
}

TEST(RecorderDump, HasWhatIsPending) {
  const RecorderDump dump =
      dump_of(dump_with(entry("") + "," + entry(R"("collective_seq_id": 4, "state": "completed")") +
                        "," + entry(R"("collective_seq_id": 6, "state": "started")")));
  EXPECT_EQ(dump.rank, 1);
  EXPECT_EQ(dump.version, "2.4");
  EXPECT_EQ(dump.written_ms, 1'700'000'000'000);
  ASSERT_THAT(dump.pending, SizeIs(2));
  EXPECT_EQ(dump.pending[0], (PendingOperation{.group = 0,
                                               .name = "all_gather",
                                               .sequence = 5,
                                               .created_ms = 1'699'999'000'123,
                                               .elements_in = 10,
                                               .elements_out = 20}));
  EXPECT_TRUE(dump.pending[1].started);
  ASSERT_THAT(dump.groups, SizeIs(2));
  EXPECT_EQ(dump.groups[0].seen, 6);
  EXPECT_EQ(dump.groups[0].description, "default_pg");
  EXPECT_THAT(envgen::members_of(dump.groups[1]), ElementsAre(1, 3));
}

TEST(RecorderDump, NamesThePeersOfTransfersByTheirRankInTheJob) {
  const std::string transfer = R"("process_group": ["7", "PIPELINE"], "is_p2p": true,
      "p2p_seq_id": 9, "collective_seq_id": 2, "profiling_name": )";
  const RecorderDump dump = dump_of(dump_with(entry(transfer + R"("nccl:send 0->1")") + "," +
                                              entry(transfer + R"("nccl:recv 0<-1")") + "," +
                                              entry(transfer + R"("nccl:recv 0<-2")")));
  ASSERT_THAT(dump.pending, SizeIs(2));
  EXPECT_EQ(dump.pending[0].name, "send");
  EXPECT_EQ(dump.pending[0].peer, 3);
  EXPECT_EQ(dump.pending[0].sequence, 9);
  EXPECT_EQ(dump.pending[1].name, "recv");
  EXPECT_TRUE(dump.more_pending) << "the group has no rank 2";
  EXPECT_TRUE(dump.groups[1].point_to_point);
  EXPECT_EQ(dump.groups[1].seen, 2);
}

TEST(RecorderDump, CountersAreOfTheGroupWhoseNumberTheyHave) {
  const std::string status = R"({"0": {"last_enqueued_collective": "8",
      "last_started_collective": "-1", "last_completed_collective": "7"},
      "3": {"last_enqueued_collective": 2, "last_completed_collective": 1}})";
  // By an entry, and by the order of names and numbers.
  for (const std::string& entries : {entry(""), std::string()}) {
    const RecorderDump dump = dump_of(dump_with(entries, status));
    EXPECT_TRUE(dump.all_groups);
    EXPECT_EQ(dump.groups[0].enqueued, 8);
    EXPECT_EQ(dump.groups[0].started, -1);
    EXPECT_EQ(dump.groups[0].completed, 7);
    EXPECT_EQ(dump.groups[1].enqueued, 2);
  }
  // An entry contradicts the order.
  const RecorderDump other = dump_of(dump_with(entry(R"("pg_id": 3)"), status));
  EXPECT_FALSE(other.all_groups);
  EXPECT_EQ(other.groups[0].enqueued, 2);
  EXPECT_EQ(other.groups[1].enqueued, -1);
}

TEST(RecorderDump, KnowsOneStateOfOperationsThatWereSentAsOne) {
  const std::string part = R"("is_p2p": true, "p2p_seq_id": 4, "profiling_name": )";
  const std::string parts =
      entry(part + R"("nccl:send 1->2")") + "," + entry(part + R"("nccl:recv 1<-0")") + ",";
  EXPECT_THAT(
      dump_of(dump_with(parts + entry(part + R"("nccl:coalesced", "state": "completed")"))).pending,
      IsEmpty());
  const RecorderDump dump = dump_of(dump_with(parts + entry(part + R"("nccl:coalesced")")));
  ASSERT_THAT(dump.pending, SizeIs(2));
  EXPECT_EQ(dump.pending[0].peer, 2);
  EXPECT_EQ(dump.pending[1].peer, 0);
  EXPECT_FALSE(dump.more_pending);
}

TEST(RecorderDump, ReadsOldFormats) {
  const RecorderDump dump = dump_of(R"({"version": "2.0", "pg_config": {"0": {"name": "0",
      "desc": "default_pg", "ranks": [0, 1]}}, "entries": [
      {"pg_id": 0, "seq_id": 3, "profiling_name": "nccl:all_reduce", "state": "started"},
      {"pg_id": 0, "seq_id": 4, "profiling_name": "nccl:recv 1<-0", "state": "scheduled"}]})");
  ASSERT_THAT(dump.pending, SizeIs(2));
  EXPECT_EQ(dump.pending[0].sequence, 3);
  EXPECT_EQ(dump.pending[0].elements_in, -1);
  EXPECT_EQ(dump.pending[1].peer, 0);
  EXPECT_FALSE(dump.all_groups);
}

TEST(RecorderDump, SaysWhyItCannotBeRead) {
  const auto error_of = [](const std::string& json) {
    const auto dump = read_recorder_dump(json, 0, "/d/trace_0");
    return dump ? "" : to_line(dump.error());
  };
  EXPECT_THAT(error_of(R"({"version": "3.0"})"), HasSubstr("/d/trace_0: found version \"3.0\""));
  EXPECT_THAT(error_of(R"({"entries": []})"), HasSubstr("found no version"));
  EXPECT_THAT(error_of(R"({"version": "2.1", "entries": []})"),
              HasSubstr("found no group with its ranks in pg_config"));
  EXPECT_THAT(error_of(R"({"version": "2.4", )" + kConfig + "}"), HasSubstr("found no entries"));
  EXPECT_THAT(error_of("{\"version\": "), HasSubstr("/d/trace_0: line 1"));
  EXPECT_THAT(error_of("dump"), HasSubstr("no pickle"));
  EXPECT_THAT(error_of("\x80\x02].").substr(0), HasSubstr("no dictionary"));
}

TEST(RecorderDump, IsPassedOverWhereAnEntryIsOdd) {
  const RecorderDump dump = dump_of(
      dump_with("1, null, {}, " + entry(R"("process_group": ["5", "x"])") + "," +
                entry(R"("process_group": [])") + "," + entry(R"("collective_seq_id": -3)") + "," +
                entry(R"("input_sizes": [[-1], [9000000000000000000, 9000000000000000000]])")));
  ASSERT_THAT(dump.pending, SizeIs(1));
  EXPECT_EQ(dump.pending[0].elements_in, -1);
  EXPECT_TRUE(dump.more_pending);
}

TEST(RecorderDump, IsSmall) {
  std::string groups, entries;
  for (int group = 0; group < 400; ++group) {
    const std::string name = std::to_string(group);
    groups += (group > 0 ? "," : "") + ("\"" + name + "\": {\"desc\": \"") + std::string(200, 'd') +
              "\", \"ranks\": \"[0, 1, 3, 7, 9, 14, 20, 31, 32, 50]\"}";
  }
  for (int i = 0; i < 400; ++i) {
    entries += (i > 0 ? "," : "") + entry(R"("process_group": [")" + std::to_string(i) + R"("])");
  }
  const RecorderDump dump = dump_of(R"({"version": "2.4", "pg_config": {)" + groups +
                                    R"(}, "entries": [)" + entries + "]}");
  EXPECT_THAT(dump.pending, SizeIs(RecorderDump::kMaxPending));
  EXPECT_THAT(dump.groups, SizeIs(RecorderDump::kMaxGroups));
  EXPECT_TRUE(dump.more_pending);
  EXPECT_FALSE(dump.all_groups);
  const std::string wire = base::to_wire(dump);
  EXPECT_LT(wire.size(), 96U << 10U);
  EXPECT_EQ(base::from_wire<RecorderDump>(wire), dump);
}

std::string bytes_of_sample(const std::string& name) {
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  if (samples == nullptr) return "";
  std::ifstream file(std::filesystem::path(samples) / "flight-recorder" / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RecorderDump, ReadsARealPickle) {
  const std::string bytes = bytes_of_sample("gpu_error_1st/_dump_0");
  if (bytes.empty()) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  const auto dump = read_recorder_dump(bytes, 0, "_dump_0");
  ASSERT_TRUE(dump) << to_line(dump.error());
  EXPECT_EQ(dump->version, "2.9");
  EXPECT_TRUE(dump->all_groups);
  EXPECT_THAT(dump->groups, SizeIs(13));
  ASSERT_THAT(dump->pending, SizeIs(20));
  EXPECT_EQ(dump->pending[0].name, "send");
  EXPECT_EQ(dump->pending[0].peer, 12);
  const auto& tensor = dump->groups[dump->pending[2].group];
  EXPECT_EQ(tensor.description, "TENSOR_MODEL_PARALLEL_GROUP");
  EXPECT_EQ(tensor.enqueued, 39416);
  EXPECT_EQ(tensor.completed, 39406);
  EXPECT_LT(base::to_wire(*dump).size(), 4096U);
}

TEST(RecorderDump, RefusesARealPickleThatEndsEarly) {
  const std::string bytes = bytes_of_sample("gpu_error_1st/_dump_14");
  if (bytes.empty()) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A copy of its own, so that a read behind its end is seen.
    const std::string part = bytes.substr(0, size);
    const auto dump = read_recorder_dump(part, 0, "d");
    ASSERT_FALSE(dump) << size;
    ASSERT_THAT(to_line(dump.error()), HasSubstr("found the end of the file")) << size;
  }
}

}  // namespace
