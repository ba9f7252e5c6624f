import { assert, describe, it } from "@effect/vitest"
import { Metrics } from "@corral/service/telemetry/Metrics"
import { Effect } from "effect"
import { countCalls } from "../../src/platform/PlatformCalls.ts"
import { type ChatPlatform, NotSent, PlatformUnavailable } from "../../src/platform/ChatPlatform.ts"
import { PrometheusText } from "@corral/testing/http/PrometheusText"

describe("counted", () => {
  it.effect("counts what a platform took, refused, or was not there for, and gives it as it was", () =>
    Effect.gen(function* () {
      const message = { chatId: "c", messageId: "m" }
      const answers = [
        Effect.succeed(message),
        Effect.fail(new NotSent({ message: "no" })),
        Effect.fail(new PlatformUnavailable({ message: "away" })),
        Effect.succeed(message)
      ]
      const metrics = new Metrics("gateway")
      // As much of a platform as is asked for.
      const platform = { id: "p", send: () => answers.shift() } as unknown as ChatPlatform
      const { send, sendEphemeral } = countCalls(platform, metrics)
      const sendText = () => send({ _tag: "Person", userId: "u" }, { _tag: "Text", text: "hello" }, "key")
      assert.strictEqual(yield* sendText(), message)
      assert.strictEqual((yield* Effect.flip(sendText()))._tag, "NotSent")
      assert.strictEqual((yield* Effect.flip(sendText()))._tag, "PlatformUnavailable")
      yield* sendText()
      const text = new PrometheusText(yield* metrics.text)
      const count = (outcome: string, call = "send") =>
        text.sum("corral_gateway_outbound_calls_total", { platform: "p", call, outcome })
      assert.deepStrictEqual([count("taken"), count("refused"), count("unavailable")], [2, 1, 1])
      assert.strictEqual(count("taken", "update"), 0)
      assert.isUndefined(sendEphemeral)
    })
  )
})
