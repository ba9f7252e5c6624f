/**
 * `corral raw`: what the program of a run printed, for a report about its adapter.
 *
 * Works only with the local Edge, because raw output never leaves the device.
 */
import { RawRecord } from "@corral/domain/run/RawOutput"
import { Effect, Schema, Stream } from "effect"
import { Command } from "effect/cli"
import { refused } from "../CommandFailed.ts"
import { connectToChosenEdge } from "../edge/EdgeClient.ts"
import { edgeFlags, jsonLines, toggle } from "../Flags.ts"
import { edgeRunServer } from "../run/EdgeRunServer.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import { explainMissingRun } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const decodeRecord = Schema.decodeUnknownEffect(Schema.fromJsonString(RawRecord))

/** A record as a person reads it: the time of day, where the line comes from, and the line. */
const lineOf = (record: RawRecord): string => {
  if ("leftOut" in record) return `(${record.leftOut} bytes before this were deleted)`
  const time = record.at.slice(11, 23)
  if ("exit" in record) return `${time} exit    ${record.exit.signal ?? record.exit.code ?? "unknown"}`
  const cut = "bytes" in record ? ` (${record.bytes} bytes)` : ""
  return `${time} ${record.stream}  ${escapeLine(record.text.trimEnd())}${cut}`
}

export const rawCommand = Command.make(
  "raw",
  {
    ...edgeFlags,
    json: jsonLines,
    stdout: toggle("stdout", "Print only stdout, without times: a recording for the tests of an adapter"),
    run: runArgument
  },
  Effect.fn(function* ({ json, run: start, stdout, ...choice }) {
    const host = yield* Host
    const id = yield* resolveRunId(yield* edgeRunServer(choice))(start)
    const calls = yield* connectToChosenEdge(choice)
    yield* explainMissingRun(id)(calls.runs.get({ params: { id } }))
    const bytes = yield* calls.runs.raw({ params: { id } })
    yield* bytes.pipe(
      Stream.decodeText(),
      Stream.splitLines,
      Stream.mapEffect((line) => decodeRecord(line)),
      Stream.runForEach((record) =>
        Effect.sync(() => {
          if (json) host.write(`${JSON.stringify(record)}\n`)
          else if (!stdout) host.write(`${lineOf(record)}\n`)
          else if ("stream" in record && record.stream === "stdout")
            host.write(`${host.terminal ? escapeLine(record.text) : record.text}\n`)
          else if ("leftOut" in record) host.warn(`${lineOf(record)}\n`)
        })
      ),
      Effect.mapError(() => refused("The raw output can't be read. Try again."))
    )
  })
).pipe(
  Command.withDescription("Print what the program of a run printed, if the Edge of this machine kept it")
)
