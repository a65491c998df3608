#include "envgen/plan/dataset.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

base::Result<std::vector<Dataset>> read(std::vector<std::string> specs) {
  DataRequest request;
  request.specs = std::move(specs);
  return datasets_of(request);
}

std::string error_of(std::vector<std::string> specs) {
  const auto datasets = read(std::move(specs));
  return datasets ? "accepted" : to_line(datasets.error());
}

TEST(Dataset, IsASourceThatGoesToTheCache) {
  EXPECT_THAT(
      *read({"/mnt/nfs/imagenet"}),
      ElementsAre(Dataset{"imagenet", "TRAINIT_DATASET_IMAGENET", "/mnt/nfs/imagenet", ""}));
}

TEST(Dataset, MayHaveAPlaceOfItsOwn) {
  EXPECT_THAT(*read({"/mnt//nfs/./COCO-2017/=/data/coco/"}),
              ElementsAre(Dataset{"COCO-2017", "TRAINIT_DATASET_COCO_2017", "/mnt/nfs/COCO-2017",
                                  "/data/coco"}));
}

TEST(Dataset, MayHaveAnEqualsSignInItsPath) {
  EXPECT_THAT(
      *read({"/lake/year=2024"}),
      ElementsAre(Dataset{"year=2024", "TRAINIT_DATASET_YEAR_2024", "/lake/year=2024", ""}));
  EXPECT_EQ(read({"/lake/year=2024=/data/y=1"})->at(0).destination, "/data/y=1");
}

TEST(Dataset, GetsANumberWhereItsNameOrVariableIsTaken) {
  const auto datasets = read({"/a/x", "/b/x", "/c/x", "/d/X", "/e/x-2"});
  ASSERT_TRUE(datasets);
  std::vector<std::string> names;
  std::vector<std::string> variables;
  for (const Dataset& dataset : *datasets) {
    names.push_back(dataset.name);
    variables.push_back(dataset.variable);
  }
  EXPECT_THAT(names, ElementsAre("x", "x-2", "x-3", "X-4", "x-2-2"));
  EXPECT_THAT(variables,
              ElementsAre("TRAINIT_DATASET_X", "TRAINIT_DATASET_X_2", "TRAINIT_DATASET_X_3",
                          "TRAINIT_DATASET_X_4", "TRAINIT_DATASET_X_2_2"));
}

TEST(Dataset, HasAVariableThatAShellTakes) {
  EXPECT_EQ(read({"/d/my data.v1\n\xff"})->at(0).variable, "TRAINIT_DATASET_MY_DATA_V1__");
}

TEST(Dataset, IsRefusedWithWhatIsWrong) {
  EXPECT_EQ(
      error_of({"imagenet"}),
      "reading the datasets: --data imagenet: found a relative path; give SRC, or SRC=DST, as "
      "absolute paths");
  EXPECT_THAT(error_of({""}), HasSubstr("found no path"));
  EXPECT_THAT(error_of({"//"}), HasSubstr("found the root directory"));
  EXPECT_THAT(error_of({"/a=/"}), HasSubstr("found the root directory"));
  EXPECT_THAT(error_of({"/a/../b"}), HasSubstr("found a path with .."));
  EXPECT_THAT(error_of({"/a=/b/.."}), HasSubstr("found a path with .."));
  EXPECT_THAT(error_of({"/" + std::string(5000, 'a')}), HasSubstr("found no path that can exist"));
  EXPECT_EQ(error_of({"/a..b/..c"}), "accepted");
}

TEST(Dataset, HasAPlaceApartFromAllSourcesAndOtherPlaces) {
  EXPECT_THAT(error_of({"/a/x=/a/x"}), HasSubstr("a place that overlaps /a/x; copy to a place"));
  EXPECT_THAT(error_of({"/a/x=/a/x/y"}), HasSubstr("a place that overlaps /a/x"));
  EXPECT_THAT(error_of({"/a/x=/a"}), HasSubstr("a place that overlaps /a/x"));
  EXPECT_THAT(error_of({"/a/x=/c", "/b/x", "/c/d"}), HasSubstr("a place that overlaps /c/d"));
  EXPECT_THAT(error_of({"/a/x=/c", "/b/x=/c"}), HasSubstr("--data /b/x=/c: found the same place"));
  EXPECT_THAT(error_of({"/a/x=/c", "/b/x=/c/d"}),
              HasSubstr("found a place that overlaps /c; give each dataset a place of its own"));
  EXPECT_EQ(error_of({"/a/x=/a/x2", "/b/x=/c/d"}), "accepted");
}

TEST(Dataset, AreNotWithoutNumber) {
  EXPECT_THAT(error_of(std::vector<std::string>(257, "/a")), HasSubstr("found 257 of them"));
}

}  // namespace
}  // namespace envgen
