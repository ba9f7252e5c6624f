/** `corral doctor`: what works here, what does not, and what to do about it. Says what it can where no Edge runs. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { edgeFlags, jsonObject } from "../Flags.ts"
import { examine } from "../doctor/Diagnosis.ts"
import { examinationReport } from "../doctor/DiagnosisReport.ts"
import { Host } from "../terminal/Host.ts"
import { painter } from "../terminal/Paint.ts"

export const doctor = Command.make(
  "doctor",
  { ...edgeFlags, json: jsonObject },
  Effect.fn(function* ({ url, tokenFile, json }) {
    const host = yield* Host
    const found = yield* examine({ url, tokenFile })
    host.write(json ? `${JSON.stringify(found)}\n` : examinationReport(found, painter(host.colours)))
    const sound =
      found.node.ok &&
      found.home.files.every(({ ok }) => ok) &&
      found.config?.problem === undefined &&
      found.disk?.ok !== false &&
      (found.hub === undefined || found.hub.state === "ok") &&
      (found.edge.running ? found.edge.status === "ok" : found.edge.store === undefined)
    if (!sound) return yield* exitWith(exitCodes.failed)
  })
).pipe(Command.withDescription("Say what works here and what is missing"))
