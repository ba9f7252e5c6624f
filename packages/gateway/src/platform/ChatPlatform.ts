/**
 * Interface of a chat platform: verification and normalization of its events, and calls to its API. A value, one per bot; `Platforms` has the
 * bots of a Gateway. Also what platforms have in common: their events, the ids that they assign, the JSON that they send, the origin of their API, and
 * the card that each draws in its way, with its texts in each language of the Gateway.
 *
 * Guarantees: `verify` receives untrusted requests and never throws. A message that is sent twice, because a response was lost, has the same
 * `key` both times. A button contains only an opaque id, or an address of the Hub. Texts of a card are plain.
 *
 * Does not: store events. An accepted event is stored before it is acknowledged.
 */
import type { IntegrationDraft } from "@corral/domain/chat/Integration"
import { isTooDeep } from "@corral/domain/text/Depth"
import { isLoopback } from "@corral/service/Addresses"
import { textMatching } from "@corral/service/settings/Setting"
import { Context, Data, type Effect, Layer, Schema, type Scope } from "effect"
import type { IncomingHttpHeaders } from "node:http"

/** A text in each language of the Gateway. A platform whose clients choose the language receives all. */
export interface LocalizedText {
  readonly en: string
  readonly zh: string
}

/** A text that is the same in every language, such as a name or a number. */
export const sameInAllLanguages = (text: string): LocalizedText => ({ en: text, zh: text })

export const localizedTextIn = (words: LocalizedText, language: keyof LocalizedText): string =>
  words[language]

/** State of the card's subject. Platforms show it as a colour or a sign. */
export type Tone = "neutral" | "running" | "attention" | "good" | "bad"

export type CardButton =
  | {
      readonly _tag: "Action"
      readonly label: LocalizedText
      readonly actionId: string
      readonly style: "primary" | "danger" | "plain"
      /** Whether the click sends the fields of the card. */
      readonly submits?: boolean
    }
  | { readonly _tag: "Link"; readonly label: LocalizedText; readonly url: string }

/** Field of a card. Nothing is selected or filled in advance. `name` is unique in the card. */
export type CardField =
  | {
      readonly _tag: "Select"
      readonly name: string
      readonly label: LocalizedText
      readonly options: ReadonlyArray<{ readonly value: string; readonly label: LocalizedText }>
      readonly multiple: boolean
    }
  | { readonly _tag: "Text"; readonly name: string; readonly label: LocalizedText }

/** What a person entered in the fields of a card, by name. A field without a value is absent. */
export type FormValues = Readonly<Record<string, ReadonlyArray<string>>>

export interface Card {
  /** Language of the reader, for platforms that show one language to all readers. */
  readonly language?: keyof LocalizedText | undefined
  readonly title: LocalizedText
  readonly tone: Tone
  readonly lines: ReadonlyArray<LocalizedText>
  readonly fields?: ReadonlyArray<CardField>
  readonly buttons: ReadonlyArray<CardButton>
}

// What events of all platforms have in common when they are decoded: where they come from, and the failure of another shape.

/** Failure of a body that does not match the type of its event. */
export const notUnderstood = (): NotUnderstood =>
  new NotUnderstood({ message: "The event does not match its type." })

/** Fields of a draft that name its event. */
export const originOf = ({ app, platform, tenant, upstreamId }: Inbound) => ({
  platform,
  app,
  tenant,
  upstreamEventId: upstreamId
})

// Id that a platform assigned: printable ASCII, 1 to 128 characters. Safe in a key, a log and a database.

export const PlatformId = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,128}$/u))

/** The two webhooks of a platform. */
export type WebhookKind = "events" | "card-actions"

export interface PlatformRequest {
  readonly kind: WebhookKind
  readonly headers: IncomingHttpHeaders
  /** The unchanged bytes, which are signed. */
  readonly body: Buffer
  /** Unix milliseconds. */
  readonly receivedAt: number
}

export interface PlatformResponse {
  readonly status: number
  /** JSON; absent for an answer without a body. */
  readonly body?: Readonly<Record<string, unknown>>
}

/**
 * The platform sends a refused message again, and so a refused change of a message, but not a refused click. The person who clicked sees an error.
 */
export type InboundKind = "message" | "message_change" | "card_action"

/** A message that was edited or deleted in the chat. */
export interface MessageChange {
  readonly chatId: string
  readonly messageId: string
  /** Absent for a message that was deleted. */
  readonly text: string | undefined
}

/** A verified event with the fields that the inbox needs. All ids are printable ASCII, up to 128 characters. */
export interface Inbound {
  readonly platform: string
  /** The platform's name for this bot. */
  readonly app: string
  readonly tenant: string
  /** The platform's id of the event, the same at every delivery. */
  readonly upstreamId: string
  readonly kind: InboundKind
  /** "" if the event has no chat. */
  readonly chatId: string
  /** Account that wrote or clicked; "" if the event has none. */
  readonly senderId: string
  /** Message whose button was clicked; "" for a message, or if the event has none. */
  readonly cardId: string
  /** The event as the platform's JSON. Deleted when the event is done. */
  readonly body: string
  readonly receivedAt: number
}

export type Verification =
  /** The platform verifies the address. The answer is sent, and nothing is stored. */
  | { readonly _tag: "Challenge"; readonly answer: PlatformResponse }
  | { readonly _tag: "Accepted"; readonly inbound: Inbound }
  /** A verified event that the Gateway does not use. */
  | { readonly _tag: "Ignored"; readonly eventType: string }
  /** `reason` is for the log. It contains nothing of the request. */
  | {
      readonly _tag: "Refused"
      readonly code: "unauthorized" | "permission_denied" | "schema_validation_failed"
      readonly reason: string
    }

/** An event with an unknown shape. A retry does not help. */
export class NotUnderstood extends Data.TaggedError("NotUnderstood")<{ readonly message: string }> {}

/** A failure that may be temporary. A retry may help. */
export class PlatformUnavailable extends Data.TaggedError("PlatformUnavailable")<{
  readonly message: string
  /** Time until a retry may help, if the platform said so. */
  readonly retryAfterMs?: number | undefined
}> {}

/** A sent message, which can be updated. */
export interface MessageRef {
  readonly chatId: string
  readonly messageId: string
}

/** Destination of a message. */
export type Destination =
  /** A chat: as a reply to a message if there is one, in the thread of that message. */
  | {
      readonly _tag: "Chat"
      readonly chatId: string
      readonly replyTo?: string | undefined
      readonly threadId?: string | undefined
    }
  /** The direct chat with a user. */
  | { readonly _tag: "Person"; readonly userId: string }

/** Content of a message. Text is plain: a platform escapes markup, mentions and links. */
export type MessageContent =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Card"; readonly card: Card }

/** The platform refused a message. A retry does not help. `message` contains nothing of the text and no secret. */
export class NotSent extends Data.TaggedError("NotSent")<{ readonly message: string }> {}

export interface PlatformUser {
  readonly name?: string | undefined
  readonly tenantName?: string | undefined
  readonly language?: keyof LocalizedText | undefined
}

/** Stores an event durably. After a failure, the event must not be acknowledged, so that the platform sends it again. */
export type StoreInbound = (inbound: Inbound) => Effect.Effect<void, PlatformUnavailable>

/** A chat platform, with one bot. */
export interface ChatPlatform {
  /** Name in paths: `/integrations/<id>/events`. */
  readonly id: string
  /** The platform's id of the bot. */
  readonly app: string
  /** Webhooks whose bodies are forms. Other bodies are JSON. */
  readonly forms?: ReadonlyArray<WebhookKind>
  readonly verify: (request: PlatformRequest) => Verification
  /** Answer to an event that was stored or ignored. */
  readonly accepted: PlatformResponse
  /** Answer to an event that could not be stored. Undefined: `overloaded`, after which the platform sends the event again. */
  readonly unavailable: (kind: InboundKind) => PlatformResponse | undefined
  /** The normalized event; undefined if it is not for the bot. */
  readonly normalize: (
    inbound: Inbound
  ) => Effect.Effect<IntegrationDraft | undefined, NotUnderstood | PlatformUnavailable>
  /** The change that an event of that kind describes; undefined if it changes no text of a user. */
  readonly changeOf: (inbound: Inbound) => Effect.Effect<MessageChange | undefined>
  /** What a click sent in the fields of its card. It stays in the Gateway, and is not part of the normalized event. */
  readonly formValues: (inbound: Inbound) => FormValues
  readonly limits: {
    /** Characters of a text. */
    readonly textMax: number
    /** Calls per second for one chat. */
    readonly perChat: number
    /** Calls per second for one message. */
    readonly perMessage: number
    /** Buttons of one card. */
    readonly buttons: number
  }
  /** Whether two sends with the same key result in one message. */
  readonly recognizesKeys: boolean
  /** Sends a new message. `key`: 1 to 50 letters, digits, `-` and `_`. */
  readonly send: (
    destination: Destination,
    content: MessageContent,
    key: string
  ) => Effect.Effect<MessageRef, NotSent | PlatformUnavailable>
  /** Replaces the card of a message of the bot. */
  readonly update: (message: MessageRef, card: Card) => Effect.Effect<void, NotSent | PlatformUnavailable>
  /** Shows a text to the user who clicked, at the clicked card. Delivery is not certain. Absent if the platform does not support it. */
  readonly sendEphemeral?: (
    inbound: Inbound,
    text: string
  ) => Effect.Effect<void, NotSent | PlatformUnavailable>
  /** Profile of an account; empty if the platform does not provide it. */
  readonly person: (userId: string) => Effect.Effect<PlatformUser>
  /** Language of users with an unknown language. */
  readonly language: keyof LocalizedText
  /** Receives events over an outbound connection while the scope is open. Absent if events arrive only by webhook. */
  readonly connect?:
    | ((store: StoreInbound) => Effect.Effect<void, PlatformUnavailable, Scope.Scope>)
    | undefined
}

/** The bots of a Gateway, by platform. */
export class Platforms extends Context.Service<
  Platforms,
  {
    readonly all: ReadonlyArray<ChatPlatform>
    /** The platform of a stored event. Dies if it is not configured. */
    readonly of: (id: string) => ChatPlatform
  }
>()("corral/gateway/Platforms") {
  static readonly layer = (platforms: ReadonlyArray<ChatPlatform>) =>
    Layer.sync(Platforms, () => {
      const byId = new Map(platforms.map((platform) => [platform.id, platform]))
      return Platforms.of({
        all: platforms,
        of: (id) => {
          const platform = byId.get(id)
          if (platform === undefined) throw new Error("no platform of this id is set up")
          return platform
        }
      })
    })
}

/** Origin of a platform's API: https, or http on loopback, without a path. */
export const ApiOrigin = textMatching(
  "an https origin, or an http one on loopback, without a path",
  (text) => {
    const url = URL.parse(text)
    return (
      url?.origin === text &&
      (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname)))
    )
  }
)

const decoder = new TextDecoder("utf-8", { fatal: true })

/** Text of UTF-8 bytes; undefined for invalid bytes. */
export const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** Value of a JSON text; undefined if the text is invalid or nests too deep. */
export const parseJson = (text: string | undefined): unknown => {
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text)
    return isTooDeep(value) ? undefined : value
  } catch {
    return undefined
  }
}
