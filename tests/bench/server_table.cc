#include "tests/bench/server_table.h"

#include <stdio.h>

#include "tests/bench/harness.h"

namespace bench {

void write_server_table(const std::string& path, int ranks) {
  FILE* file = fopen(path.c_str(), "we");
  if (file == nullptr) fail(path);
  fprintf(file, R"({"status":"completed","version":"2.0","rank_count":%d,"rank_list":[)", ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    fprintf(file,
            R"(%s{"rank_id":%d,"local_id":%d,"device_id":%d,"level_list":[{"net_layer":0,)"
            R"("net_instance_id":"server","net_type":"TOPO_FILE_DESC","net_attr":"",)"
            R"("rank_addr_list":[{"addr_type":"IPV4","addr":"10.0.0.%d","ports":["1/0"],)"
            R"("plane_id":"0"}]}]})",
            rank == 0 ? "" : ",", rank, rank, rank, rank + 1);
  }
  fputs("]}\n", file);
  if (fclose(file) != 0) fail(path);
}

}  // namespace bench
