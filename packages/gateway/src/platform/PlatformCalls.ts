/** Chat platform that redacts secrets in every outgoing text. Addresses and ids are unchanged. */
import { Redaction } from "@corral/redaction/Redaction"
import type { Card, CardButton, CardField, LocalizedText } from "./Card.ts"
import type { ChatPlatform, MessageContent, NotSent, PlatformUnavailable } from "./ChatPlatform.ts"
import type { Metrics } from "@corral/service/telemetry/Metrics"
import { Effect } from "effect"
import { gatewayMetrics } from "../GatewayMetrics.ts"

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
