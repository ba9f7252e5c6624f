/** `corral doctor`: checks this machine and reports problems with hints, tests the confinement, or checks an upgrade. Works without a running Edge. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { edgeFlags, jsonObject, toggle } from "../Flags.ts"
import { VERSION } from "@corral/service/Version"
import { formatDiagnosis, formatUpgrade } from "../doctor/DiagnosisReport.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint } from "../terminal/Rows.ts"

const probe = toggle("probe", "Test the confinement: a program tries to go beyond each mode, and must fail")

const upgrade = toggle("upgrade", "Say whether the live runs of this home continue under this version")

const checkUpgrade = Effect.fn(function* (json: boolean) {
  const host = yield* Host
  const { findHolder } = yield* Effect.promise(() => import("../doctor/Diagnosis.ts"))
  const found = yield* findHolder
  host.write(
    json
      ? `${JSON.stringify({ version: VERSION, runs: found?.runs ?? 0, ...(found === undefined ? {} : { build: found.build, compatible: found.isCompatible }) })}\n`
      : formatUpgrade(found, VERSION)
  )
  if (found?.isCompatible === false && found.runs > 0) return yield* exitWith(exitCodes.failed)
})

const testConfinement = Effect.fn(function* (json: boolean) {
  const host = yield* Host
  const { findEscapes } = yield* Effect.promise(() => import("../doctor/Escapes.ts"))
  const { outcomeCount, formatEscapes } = yield* Effect.promise(() => import("../doctor/Escapes.ts"))
  const attempts = yield* findEscapes
  const notHeld = outcomeCount(attempts, "not_held")
  const counts = {
    held: outcomeCount(attempts, "held"),
    notHeld,
    notTried: outcomeCount(attempts, "not_tried")
  }
  host.write(
    json ? `${JSON.stringify({ ...counts, attempts })}\n` : formatEscapes(attempts, makePaint(host.colours))
  )
  if (notHeld > 0) return yield* exitWith(exitCodes.failed)
})

export const doctorCommand = Command.make(
  "doctor",
  { ...edgeFlags, json: jsonObject, probe, upgrade },
  Effect.fn(function* ({ url, tokenFile, json, probe: isProbe, upgrade: isUpgrade }) {
    if (isUpgrade) return yield* checkUpgrade(json)
    if (isProbe) return yield* testConfinement(json)
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
