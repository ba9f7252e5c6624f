/** `corral doctor`: checks this machine and reports problems with hints. Works without a running Edge. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { edgeFlags, jsonObject } from "../Flags.ts"
import { formatDiagnosis } from "../doctor/DiagnosisReport.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint } from "../terminal/Paint.ts"

export const doctorCommand = Command.make(
  "doctor",
  { ...edgeFlags, json: jsonObject },
  Effect.fn(function* ({ url, tokenFile, json }) {
    const host = yield* Host
    // Loaded on demand: other commands start faster without the parts of the Edge.
    const { diagnose } = yield* Effect.promise(() => import("../doctor/Diagnosis.ts"))
    const found = yield* diagnose({ url, tokenFile })
    host.write(json ? `${JSON.stringify(found)}\n` : formatDiagnosis(found, makePaint(host.colours)))
    const isHealthy =
      found.node.ok &&
      found.home.files.every(({ ok }) => ok) &&
      found.config?.problem === undefined &&
      found.adapterProblems.length === 0 &&
      found.disk?.ok !== false &&
      (found.hub === undefined || found.hub.state === "ok") &&
      (found.edge.running
        ? found.edge.status === "ok"
        : found.edge.problem === undefined && found.edge.store === undefined)
    if (!isHealthy) return yield* exitWith(exitCodes.failed)
  })
).pipe(Command.withDescription("Check this machine and report problems"))
