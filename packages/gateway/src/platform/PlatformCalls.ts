/**
 * What holds for the calls to every chat platform: they are counted, secrets in outgoing texts are redacted, and they pause when the platform asks for it
 * with `Retry-After`. Addresses and ids are unchanged.
 *
 * Guarantees: until the pause is over, no call with the same key reaches the platform: it fails with the time that is left. Does not: wait.
 */
import { Redaction } from "@corral/redaction/Redaction"
import type { Metrics } from "@corral/service/telemetry/Metrics"
import { Clock, Effect } from "effect"
import { gatewayMetrics } from "../GatewayMetrics.ts"
import {
  type Card,
  type CardButton,
  type CardField,
  type ChatPlatform,
  type LocalizedText,
  type MessageContent,
  type NotSent,
  PlatformUnavailable
} from "./ChatPlatform.ts"

// Chat platform whose outbound calls are counted, by call and outcome.

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

const redaction = new Redaction()

const wordsOf = ({ en, zh }: LocalizedText): LocalizedText => ({
  en: redaction.text(en),
  zh: redaction.text(zh)
})

const buttonOf = (button: CardButton): CardButton => ({ ...button, label: wordsOf(button.label) })

const fieldOf = (field: CardField): CardField =>
  field._tag === "Text"
    ? { ...field, label: wordsOf(field.label) }
    : {
        ...field,
        label: wordsOf(field.label),
        options: field.options.map((option) => ({ ...option, label: wordsOf(option.label) }))
      }

const cardOf = (card: Card): Card => ({
  ...card,
  title: wordsOf(card.title),
  lines: card.lines.map(wordsOf),
  ...(card.fields === undefined ? {} : { fields: card.fields.map(fieldOf) }),
  buttons: card.buttons.map(buttonOf)
})

const contentOf = (content: MessageContent): MessageContent =>
  content._tag === "Text"
    ? { ...content, text: redaction.text(content.text) }
    : { ...content, card: cardOf(content.card) }

export const redactCalls = (platform: ChatPlatform): ChatPlatform => {
  const { send, update, sendEphemeral } = platform
  return {
    ...platform,
    send: (place, content, key) => send(place, contentOf(content), key),
    update: (message, card) => update(message, cardOf(card)),
    ...(sendEphemeral === undefined
      ? {}
      : { sendEphemeral: (inbound, text) => sendEphemeral(inbound, redaction.text(text)) })
  }
}

/** A longer pause is cut: the platform may have sent nonsense, and it can ask again. */
const MAX_PAUSE_MS = 3_600_000
const MAX_KEYS = 10_000

/** Milliseconds of a `Retry-After` in seconds; `undefined` for a missing or invalid one. */
export const retryAfterMsOf = (seconds: unknown): number | undefined => {
  const value = typeof seconds === "string" && /^\d{1,9}$/.test(seconds) ? Number(seconds) : seconds
  return typeof value === "number" && value > 0 ? Math.min(value * 1_000, MAX_PAUSE_MS) : undefined
}

export const makeRateHold = () => {
  /** When the pause of a key is over. */
  const until = new Map<string, number>()
  return (key: string) =>
    <A, R>(call: Effect.Effect<A, NotSent | PlatformUnavailable, R>) =>
      Effect.gen(function* () {
        const left = (until.get(key) ?? 0) - (yield* Clock.currentTimeMillis)
        if (left > 0)
          return yield* new PlatformUnavailable({
            message: "The platform limited the rate of calls.",
            retryAfterMs: left
          })
        until.delete(key)
        return yield* Effect.tapError(call, (error) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            if (error._tag !== "PlatformUnavailable" || error.retryAfterMs === undefined) return
            const [oldest] = until.keys()
            if (until.size >= MAX_KEYS && oldest !== undefined) until.delete(oldest)
            until.set(key, now + error.retryAfterMs)
          })
        )
      })
}
