/**
 * Answers to the actions of one client: as they were sent, or with a reason if they change nothing.
 *
 * Guarantees: every action has one. A refusal in a chat has a visible line: clients do not show the reason.
 */
import { type ErrorCode, errorTable } from "@corral/domain/errors/ErrorTable"
import type { Failure } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import { plain } from "../fold/Lines.ts"
import type { StateAction } from "../protocol/Actions.ts"
import type { Dispatch } from "../protocol/Messages.ts"
import type { ChatChannel } from "./ChatChannel.ts"
import type { Channel, HostClient, Origin } from "./HostClient.ts"

/** `undefined`: accepted. A text: why it changes nothing. */
export type Outcome = string | undefined

/** Drafts and descriptions of one client in all of its channels, in characters. */
const MAX_STORED = 4_194_304

const VIEWER =
  "You are a viewer of this project: you follow, and change nothing. Ask its owner for the role of a member."
const PERHAPS_VIEWER =
  "You may not do this. A viewer of a project follows only: ask its owner for the role of a member."

/** What a person does about a failure whose general message does not say it. */
const advice: { readonly [Code in ErrorCode]?: string } = {
  target_offline: "The device is disconnected. Try again after it reconnects.",
  unauthorized_target:
    "The device is no longer available to you. Ask its owner to share it again, or use another device."
}

export class DispatchAnswers {
  private readonly client: HostClient
  /** What channels have for this client alone, by the place in its state. */
  private readonly stored = new Map<string, { readonly channel: Channel; readonly size: number }>()

  constructor(client: HostClient) {
    this.client = client
  }

  originOf({ clientSeq }: Dispatch): Origin {
    return { clientId: this.client.clientId, clientSeq }
  }

  /** Answers an action: as it was sent if there is no reason against it. */
  answer(dispatch: Dispatch, reason: Outcome): Effect.Effect<void> {
    return Effect.sync(() => {
      if (reason === undefined) this.accept(dispatch)
      else this.client.reject(dispatch, reason)
    })
  }

  /** Answers an action as it was sent. */
  accept(dispatch: Dispatch): void {
    const channel = this.client.channels.get(dispatch.channel)
    if (channel === undefined) return this.client.reject(dispatch, "The channel is not subscribed.")
    // Its fields are decoded as far as the reducers of its type read them.
    this.client.publish(channel, dispatch.action as unknown as StateAction, this.originOf(dispatch))
  }

  /** Accepts what the state of a channel has for this client alone, unless all of it is too large. */
  keep(dispatch: Dispatch): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { channels } = this.client
      for (const [place, { channel }] of this.stored)
        if (channels.get(channel.address) !== channel) this.stored.delete(place)
      const { action, channel: address } = dispatch
      const place = JSON.stringify([address, action.type, action.requestId, action.questionId])
      const size = JSON.stringify(action).length
      const others = [...this.stored].filter(([each]) => each !== place)
      if (others.reduce((sum, [, stored]) => sum + stored.size, size) > MAX_STORED)
        return this.answer(dispatch, "The drafts of this connection are too large together.")
      const channel = channels.get(address)
      if (channel !== undefined) this.stored.set(place, { channel, size })
      return this.answer(dispatch, undefined)
    })
  }

  /** What a call of the service leads to. */
  outcomeOf(call: Effect.Effect<unknown, Failure>, chat?: ChatChannel): Effect.Effect<Outcome> {
    return Effect.matchEffect(call, {
      onSuccess: () => Effect.succeed(undefined),
      onFailure: (failure) => this.reasonOf(failure, chat)
    })
  }

  /** Why a call failed, in words for the user of the chat. */
  reasonOf({ code, message }: Failure, chat: ChatChannel | undefined): Effect.Effect<string> {
    if (message !== errorTable[code].message) return Effect.succeed(message)
    const { backend, drafts } = this.client
    if (code !== "permission_denied" || chat === undefined || backend.caller.kind !== "user")
      return Effect.succeed(advice[code] ?? message)
    if (drafts.has(chat.sessionId)) return Effect.succeed(PERHAPS_VIEWER)
    return Effect.match(backend.session(chat.sessionId), {
      onSuccess: ({ rights }) => (rights.maySend ? message : VIEWER),
      onFailure: () => message
    })
  }

  /** A refusal with a line in the turn. */
  refuse(chat: ChatChannel, dispatch: Dispatch, reason: string): Effect.Effect<void> {
    chat.addLine(plain(reason))
    return this.answer(dispatch, reason)
  }
}
