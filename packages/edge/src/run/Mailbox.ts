/**
 * A run's mailbox: messages from callbacks, taken all at once by the one fiber that owns it.
 *
 * A waiting owner is resumed by the post itself, not a turn of the event loop later: that is the shortest way from a child's write to
 * the disk. Bounded; a full mailbox refuses.
 */
import { Effect } from "effect"

export class Mailbox<A> {
  private readonly capacity: number
  private messages: Array<A> = []
  private wake: (() => void) | undefined

  constructor(capacity: number) {
    this.capacity = capacity
  }

  /** False where it is full: the message was not taken. */
  post(message: A): boolean {
    if (this.messages.length >= this.capacity) return false
    this.messages.push(message)
    const wake = this.wake
    this.wake = undefined
    wake?.()
    return true
  }

  /** All messages that wait, at least one. */
  readonly take: Effect.Effect<ReadonlyArray<A>> = Effect.suspend(() =>
    this.messages.length > 0
      ? Effect.sync(() => this.drain())
      : Effect.callback<ReadonlyArray<A>>((resume) => {
          this.wake = () => resume(Effect.sync(() => this.drain()))
          return Effect.sync(() => (this.wake = undefined))
        })
  )

  /** All messages that wait now, if any. */
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
