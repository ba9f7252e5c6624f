/** Every built-in adapter against every recording of its program. A new adapter needs `fixtures/<id>/` and no new test. */
import { describe, it } from "@effect/vitest"
import { testAdapter } from "@corral/conformance/TestAdapter"
import { recordings, registry } from "@corral/testing/recordings/Fixtures"
import { effort } from "@corral/testing/time/Effort"

for (const [id, adapter] of registry)
  testAdapter({ describe, it }, { adapter, recordings: recordings(id), runs: 4 * effort })
