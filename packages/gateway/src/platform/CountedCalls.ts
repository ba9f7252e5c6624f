/** Chat platform whose outbound calls are counted, by call and outcome. */
import type { Metrics } from "@corral/service/telemetry/Metrics"
import { Effect } from "effect"
import { gatewayMetrics } from "../GatewayMetrics.ts"
import type { ChatPlatform, NotSent, PlatformUnavailable } from "./ChatPlatform.ts"

type Call = "send" | "update" | "whisper"

export const countCalls = (platform: ChatPlatform, metrics: Metrics): ChatPlatform => {
  const counted = (call: Call) => {
    const counter = (outcome: string) =>
      metrics.counter(gatewayMetrics.calls, { platform: platform.id, call, outcome })
    const outcomes = {
      taken: counter("taken"),
      NotSent: counter("refused"),
      PlatformUnavailable: counter("unavailable")
    }
    return <A>(outbound: Effect.Effect<A, NotSent | PlatformUnavailable>) =>
      outbound.pipe(
        Effect.tapError(({ _tag }) => Effect.sync(() => outcomes[_tag].add())),
        Effect.tap(() => Effect.sync(() => outcomes.taken.add()))
      )
  }
  const { send, update, sendEphemeral } = platform
  const countSend = counted("send")
  const countUpdate = counted("update")
  const withCounters: ChatPlatform = {
    ...platform,
    send: (destination, content, key) => countSend(send(destination, content, key)),
    update: (message, card) => countUpdate(update(message, card))
  }
  if (sendEphemeral === undefined) return withCounters
  const countEphemeral = counted("whisper")
  return { ...withCounters, sendEphemeral: (inbound, text) => countEphemeral(sendEphemeral(inbound, text)) }
}
