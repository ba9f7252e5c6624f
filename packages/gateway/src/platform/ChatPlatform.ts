/**
 * A chat platform as the Gateway sees it: how what it sends is verified and answered, and what it means. A value, one for each bot.
 *
 * It owns no storage and acknowledges nothing: what it accepts is stored before it is answered. `verify` is called with whatever the
 * internet sends, and never throws.
 */
import type { IntegrationDraft } from "@corral/domain/Integration"
import { Data, type Effect } from "effect"
import type { IncomingHttpHeaders } from "node:http"

export interface PlatformRequest {
  readonly headers: IncomingHttpHeaders
  /** As they came: signatures are made over bytes. */
  readonly body: Buffer
  /** Unix milliseconds. */
  readonly receivedAt: number
}

export interface PlatformAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** Events that are not taken are sent again by the platform; a click is not, so the person who clicked is told. */
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
  /** The event as the platform's JSON: kept until it is worked off, and told to nobody. */
  readonly body: string
  readonly receivedAt: number
}

export type Verdict =
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

export interface ChatPlatform {
  /** A word of a path: `/integrations/<id>/events`. */
  readonly id: string
  readonly verify: (request: PlatformRequest) => Verdict
  /** To what was stored, or is of no use. */
  readonly accepted: PlatformAnswer
  /** To what could not be stored; undefined: `overloaded`, which makes the platform send it again. */
  readonly unavailable: (kind: InboundKind) => PlatformAnswer | undefined
  /** What an event says, undefined where it is not meant for the bot. */
  readonly normalize: (
    inbound: Inbound
  ) => Effect.Effect<IntegrationDraft | undefined, NotUnderstood | PlatformUnavailable>
}
