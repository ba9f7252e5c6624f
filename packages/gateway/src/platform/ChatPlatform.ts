/**
 * A chat platform as the Gateway sees it: how what it sends is verified and answered, what it means, and how something is said there. A
 * value, one for each bot.
 *
 * It owns no storage and acknowledges nothing: what it accepts is stored before it is answered. `verify` is called with whatever the
 * internet sends, and never throws. A message may be sent twice if its response was lost: `key` is the same both times,
 * for platforms that can tell by it.
 */
import type { IntegrationDraft } from "@corral/domain/chat/Integration"
import { Data, type Effect, type Scope } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import type { Card } from "./Card.ts"
import type { Words } from "./Words.ts"

/** The two webhooks of a platform. */
export type WebhookKind = "events" | "card-actions"

export interface PlatformRequest {
  readonly kind: WebhookKind
  readonly headers: IncomingHttpHeaders
  /** As they came: signatures are made over bytes. */
  readonly body: Buffer
  /** Unix milliseconds. */
  readonly receivedAt: number
}

export interface PlatformAnswer {
  readonly status: number
  /** JSON; absent: an answer without a body. */
  readonly body?: Readonly<Record<string, unknown>>
}

/** The platform sends a refused message again, but not a refused click. The person who clicked sees an error. */
export type InboundKind = "message" | "card_action"

/** A verified event, not looked into further than is needed to keep it. All ids are printable ASCII, 128 characters at most. */
export interface Inbound {
  readonly platform: string
  /** The platform's name for this bot. */
  readonly app: string
  readonly tenant: string
  /** The same whenever the platform sends the same event. */
  readonly upstreamId: string
  readonly kind: InboundKind
  /** "" where the event names none. */
  readonly chatId: string
  /** Account that wrote or clicked; "" where the event names none. */
  readonly senderId: string
  /** Message whose button was clicked; "" for a message, and where the event names none. */
  readonly cardId: string
  /** The event as the platform's JSON. Deleted when the event is done. */
  readonly body: string
  readonly receivedAt: number
}

export type Verification =
  /** The platform tries the address: answered at once, stored nowhere. */
  | { readonly _tag: "Challenge"; readonly answer: PlatformAnswer }
  | { readonly _tag: "Accepted"; readonly inbound: Inbound }
  /** Verified, and nothing to us: a kind of event that we know no use for. */
  | { readonly _tag: "Ignored"; readonly eventType: string }
  /** `reason` is for the log: it repeats nothing of what was sent. */
  | {
      readonly _tag: "Refused"
      readonly code: "unauthorized" | "permission_denied" | "schema_validation_failed"
      readonly reason: string
    }

/** Trying again does not help. */
export class NotUnderstood extends Data.TaggedError("NotUnderstood")<{ readonly message: string }> {}

/** Trying again may help. */
export class PlatformUnavailable extends Data.TaggedError("PlatformUnavailable")<{
  readonly message: string
}> {}

/** What was said, so that it can be said otherwise later. */
export interface MessageRef {
  readonly chatId: string
  readonly messageId: string
}

/** Where something is said. */
export type Destination =
  /** In a chat; as an answer to a message of it where one is named, in that message's thread where it has one. */
  | {
      readonly _tag: "Chat"
      readonly chatId: string
      readonly replyTo?: string | undefined
      readonly threadId?: string | undefined
    }
  /** The direct chat with a user. */
  | { readonly _tag: "Person"; readonly userId: string }

/** Text is plain: nothing in it is markup, a mention or a link, and a platform escapes what it would take for such. */
export type MessageContent =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Card"; readonly card: Card }

/** The platform has refused it; trying again does not help. The message repeats nothing of what was said and no secret. */
export class NotSent extends Data.TaggedError("NotSent")<{ readonly message: string }> {}

export interface PlatformUser {
  readonly name?: string | undefined
  readonly tenantName?: string | undefined
  readonly language?: keyof Words | undefined
}

/** Keeps an event; durable once it succeeds, and a failure must reach the platform, so that it sends the event again. */
export type StoreInbound = (inbound: Inbound) => Effect.Effect<void, PlatformUnavailable>

export interface ChatPlatform {
  /** A word of a path: `/integrations/<id>/events`. */
  readonly id: string
  /** Doors to which bodies come as a form; they are JSON elsewhere. */
  readonly forms?: ReadonlyArray<WebhookKind>
  readonly verify: (request: PlatformRequest) => Verification
  /** To what was stored, or is of no use. */
  readonly accepted: PlatformAnswer
  /** To what could not be stored; undefined: `overloaded`, which makes the platform send it again. */
  readonly unavailable: (kind: InboundKind) => PlatformAnswer | undefined
  /** What an event says, undefined where it is not meant for the bot. */
  readonly normalize: (
    inbound: Inbound
  ) => Effect.Effect<IntegrationDraft | undefined, NotUnderstood | PlatformUnavailable>
  /** What the platform takes: characters of a text, and calls in a second about one chat and one message, and buttons. */
  readonly limits: {
    readonly textMax: number
    readonly perChat: number
    readonly perMessage: number
    /** Of one card. */
    readonly buttons: number
  }
  /** Whether a message that is sent twice with one key is one message. */
  readonly recognizesKeys: boolean
  /** Says something new. `key`: 1 to 50 letters, digits, `-` and `_`. */
  readonly send: (
    place: Destination,
    content: MessageContent,
    key: string
  ) => Effect.Effect<MessageRef, NotSent | PlatformUnavailable>
  /** Puts a card in the place of one of the bot's own. */
  readonly update: (message: MessageRef, card: Card) => Effect.Effect<void, NotSent | PlatformUnavailable>
  /**
   * Shows a text only to the person who clicked, where they clicked: an answer to a recent click. It says nothing that one must
   * have read, and proves nothing. Absent: the platform has no such thing.
   */
  readonly whisper?: (inbound: Inbound, text: string) => Effect.Effect<void, NotSent | PlatformUnavailable>
  /** Who has that account, as far as the platform tells; empty where it does not. */
  readonly person: (userId: string) => Effect.Effect<PlatformUser>
  /** The language of those whose own is not known. */
  readonly language: keyof Words
  /** Takes events over a connection of the bot's own making while its scope lives; absent: they come by webhook alone. */
  readonly connect?:
    | ((ingest: StoreInbound) => Effect.Effect<void, PlatformUnavailable, Scope.Scope>)
    | undefined
}
