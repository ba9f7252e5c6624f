/**
 * Mailbox of a run: messages from callbacks. The fiber that owns it takes all of them together.
 *
 * A post resumes a waiting owner directly, not in a later turn of the event loop. This is the shortest path from a child's write to the
 * disk. Bounded: a full mailbox refuses messages.
 */
import { Effect } from "effect"

export class Mailbox<A> {
  private readonly capacity: number
  private messages: Array<A> = []
  private wake: (() => void) | undefined

  constructor(capacity: number) {
    this.capacity = capacity
  }

  /** False if the mailbox is full and the message was refused. */
  post(message: A): boolean {
    if (this.messages.length >= this.capacity) return false
    this.messages.push(message)
    const wake = this.wake
    this.wake = undefined
    wake?.()
    return true
  }

  /** Waits for messages and takes all of them, at least one. */
  readonly take: Effect.Effect<ReadonlyArray<A>> = Effect.suspend(() =>
    this.messages.length > 0
      ? Effect.sync(() => this.drain())
      : Effect.callback<ReadonlyArray<A>>((resume) => {
          this.wake = () => resume(Effect.sync(() => this.drain()))
          return Effect.sync(() => (this.wake = undefined))
        })
  )

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
