/**
 * Failures of the model service, generated from the recordings: the words and the status of a recorded failure are replaced by others, and
 * the words of a recorded answer by those of a failure. A failure is never a completed run, and an agent may talk about a failure.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { Schema } from "effect"
import { replay, type Recording } from "@corral/conformance/Replay"
import { recordings, registry } from "@corral/testing/recordings/Fixtures"
import { answerOf, replaced, saying } from "./Retold.ts"
import { tries } from "@corral/testing/time/Effort"

/** What recorded model services answered with. */
const WORDS =
  /fake: (?:internal server error|rate limited|the request was invalid|forbidden)|invalid x-api-key|Overloaded/g
const STATUS =
  /(?<=\b(?:status|statusCode|status: |code":|Error: |HTTP |error: |")\s?)(?:400|403|429|500|529)\b/g

const SERVICE =
  /^(rate_limited|overloaded|server_error|request_refused|bad_credentials|connection_lost|unreachable|no_answer|agent_failed|runtime_error|api_error|usage_limit|not_signed_in)$/

const words = Schema.Literals([
  "fake: internal server error",
  "upstream request timed out",
  "no healthy upstream",
  "Too Many Requests",
  "quota exceeded for this project",
  "The model is at capacity. Done.",
  "Hello! Everything went well.",
  "模型服务不可用",
  "billing hard limit has been reached",
  "request entity too large"
])
const status = Schema.Literals([
  "400",
  "402",
  "403",
  "404",
  "408",
  "413",
  "422",
  "429",
  "500",
  "502",
  "503",
  "504",
  "529"
])

const outcomeOf = (adapter: RuntimeAdapter, recording: Recording, stdout: Uint8Array) => {
  const last = replay(adapter, recording, [stdout]).at(-1)
  assert(last?._tag === "Outcome")
  return last.outcome
}

for (const [id, adapter] of registry) {
  const all = recordings(id)
  const failed = all.filter(
    ({ expected, stdout }) =>
      expected?.outcome === "Failed" && Buffer.from(stdout).toString("utf8").search(WORDS) !== -1
  )
  const answered = all.filter(({ name }) => name === "simple-message")
  if (failed.length === 0 && answered.length === 0) continue

  describe(id, () => {
    for (const recording of failed) {
      it.prop(
        `${recording.name}: fails with other words and another status`,
        [words, status],
        ([text, code]) => {
          const stdout = replaced(recording.stdout, (line) =>
            line.replaceAll(WORDS, JSON.stringify(text).slice(1, -1)).replaceAll(STATUS, code)
          )
          const outcome = outcomeOf(adapter, recording, stdout)
          assert(outcome._tag === "Failed", JSON.stringify(outcome))
          assert.strictEqual(outcome.error.code, "runtime_unavailable")
          assert.match(String(outcome.error.details?.["reason"]), SERVICE)
        },
        tries(20)
      )
    }

    for (const recording of answered) {
      const answer = answerOf(adapter, recording)
      it.prop(
        `${recording.name}: completes where the model talks about a failure`,
        [
          words,
          status,
          Schema.Literals(["Error: ", "API Error: ", "unexpected status ", '{"error":{"code":"', ""])
        ],
        ([output, code, beginning]) => {
          const text = `${beginning}${code} ${output} is what the log says, and I have fixed it.`
          const stdout = saying(recording.stdout, answer, text)
          const outcome = outcomeOf(adapter, recording, stdout)
          assert.strictEqual(outcome._tag, "Completed", JSON.stringify(outcome))
        },
        tries(20)
      )
    }
  })
}
