/** The conformance kit on the adapter and its recordings, in a thread with time limits. */
import { loadRecordings } from "@corral/conformance/Recordings"
import { testModule } from "@corral/conformance/TestAdapter"
import { describe, it } from "node:test"

testModule(
  { describe, it },
  {
    module: new URL("../src/index.ts", import.meta.url),
    recordings: loadRecordings(new URL("../recordings", import.meta.url))
  }
)
