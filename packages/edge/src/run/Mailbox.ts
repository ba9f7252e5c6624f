/**
 * Mailbox of a run: messages from callbacks. The fiber that owns it takes all of them together.
 *
 * A post resumes a waiting owner directly, not in a later turn of the event loop. This is the shortest path from a child's write to the
 * disk. Shorter still: while the owner waits, a message may be processed by the call that posts it, without the owner.
 *
 * Bounded: a full mailbox refuses messages.
 */
import { Effect } from "effect"

/** Processes messages for a waiting owner. */
export interface DirectProcessing<A> {
  readonly accepts: (message: A) => boolean
  /** Returns whether nothing is left to do for the owner. Otherwise the owner is resumed without messages. Must not throw. */
  readonly process: (message: A) => boolean
}

export class Mailbox<A> {
  private readonly capacity: number
  private messages: Array<A> = []
  /** Resumes the owner; `undefined` unless it waits, and while a message is processed for it. */
  private wake: ((messages: Effect.Effect<ReadonlyArray<A>>) => void) | undefined
  private isWaiting = false
  private direct: DirectProcessing<A> | undefined

  constructor(capacity: number) {
    this.capacity = capacity
  }

  /** Processes messages without the owner from now on. */
  processDirectly(direct: DirectProcessing<A>): void {
    this.direct = direct
  }

  /** False if the mailbox is full and the message was refused. */
  post(message: A): boolean {
    if (this.messages.length >= this.capacity) return false
    const { direct, wake } = this
    this.wake = undefined
    if (wake !== undefined && direct?.accepts(message) === true) {
      // Meanwhile, posts wait in the mailbox.
      if (!direct.process(message)) wake(nothing)
      else if (this.messages.length > 0) wake(this.drained)
      else if (this.isWaiting) this.wake = wake
      return true
    }
    this.messages.push(message)
    wake?.(this.drained)
    return true
  }

  /** Waits for messages and takes all of them. Takes none if a message was processed directly and left something to the owner. */
  readonly take: Effect.Effect<ReadonlyArray<A>> = Effect.suspend(() =>
    this.messages.length > 0
      ? this.drained
      : Effect.callback<ReadonlyArray<A>>((resume) => {
          this.isWaiting = true
          this.wake = (messages) => {
            this.isWaiting = false
            resume(messages)
          }
          return Effect.sync(() => {
            this.isWaiting = false
            this.wake = undefined
          })
        })
  )

  private readonly drained: Effect.Effect<ReadonlyArray<A>> = Effect.sync(() => this.drain())

  /** Takes the pending messages without waiting. */
  takeWaiting(): ReadonlyArray<A> {
    return this.messages.length > 0 ? this.drain() : none
  }

  private drain(): ReadonlyArray<A> {
    const messages = this.messages
    this.messages = []
    return messages
  }
}

const none: ReadonlyArray<never> = []
const nothing: Effect.Effect<ReadonlyArray<never>> = Effect.succeed(none)
