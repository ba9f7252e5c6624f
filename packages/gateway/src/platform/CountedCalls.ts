/** A platform whose outbound calls are counted: which, and whether the platform has taken it, refused it, or was not there. */
import type { Metrics } from "@corral/service/telemetry/Metrics"
import { Effect } from "effect"
import { gatewayMetrics } from "../GatewayMetrics.ts"
import type { ChatPlatform, NotSent, PlatformUnavailable } from "./ChatPlatform.ts"

type Call = "send" | "update" | "whisper"

export const countCalls = (platform: ChatPlatform, metrics: Metrics): ChatPlatform => {
  const counting = (call: Call) => {
    const counter = (outcome: string) =>
      metrics.counter(gatewayMetrics.calls, { platform: platform.id, call, outcome })
    const outcomes = {
      taken: counter("taken"),
      NotSent: counter("refused"),
      PlatformUnavailable: counter("unavailable")
    }
    return <A>(saying: Effect.Effect<A, NotSent | PlatformUnavailable>) =>
      saying.pipe(
        Effect.tapError(({ _tag }) => Effect.sync(() => outcomes[_tag].add())),
        Effect.tap(() => Effect.sync(() => outcomes.taken.add()))
      )
  }
  const { send, update, whisper } = platform
  const ofSend = counting("send")
  const ofUpdate = counting("update")
  const told: ChatPlatform = {
    ...platform,
    send: (place, content, key) => ofSend(send(place, content, key)),
    update: (message, card) => ofUpdate(update(message, card))
  }
  if (whisper === undefined) return told
  const ofWhisper = counting("whisper")
  return { ...told, whisper: (inbound, text) => ofWhisper(whisper(inbound, text)) }
}
