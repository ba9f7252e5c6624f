/**
 * Turns of a run: the messages that wait are taken together, and the next ones when the turn has ended.
 *
 * A turn is begun by the call that posts its message, if none is in progress: this is the shortest path from a program's write to the disk, because
 * to resume a fiber and to build its effects costs more than all else that the event loop does for most turns. A turn with effects hands them to the
 * run's fiber, and ends with them.
 *
 * Guarantees: one turn at a time, in the order of the posts. Nothing begins before the fiber is there or after it has ended. Bounded: a full loop
 * refuses messages.
 */
import { Effect } from "effect"

/** Maximum number of pending messages. Output stops earlier, at `StdoutReader`'s limit; the rest is for commands. */
const CAPACITY = 65_536

export class TurnLoop<Message, E, R> {
  readonly #begin: (messages: ReadonlyArray<Message>) => void
  readonly #capacity: number
  #messages: Array<Message> = []
  #state: "closed" | "idle" | "turn" = "closed"
  #isBeginning = false
  #work: Effect.Effect<unknown, E, R> | undefined
  /** Resumes the fiber; `undefined` while it performs something. */
  #wake: (() => void) | undefined

  /** `begin` begins a turn, which lasts until `end`. */
  constructor(begin: (messages: ReadonlyArray<Message>) => void, capacity = CAPACITY) {
    this.#begin = begin
    this.#capacity = capacity
  }

  get isOpen(): boolean {
    return this.#state !== "closed"
  }

  /** False if the loop is full and the message was refused. */
  post(message: Message): boolean {
    if (this.#messages.length >= this.#capacity) return false
    this.#messages.push(message)
    this.#continue()
    return true
  }

  /** Takes the messages that wait, into the turn in progress. */
  readonly takeWaiting = (): ReadonlyArray<Message> => {
    if (this.#messages.length === 0) return none
    const messages = this.#messages
    this.#messages = []
    return messages
  }

  /** Hands a part of the turn in progress to the fiber. It calls `end`, or leads to what does. */
  perform(work: Effect.Effect<unknown, E, R>): void {
    this.#work = work
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  /** Ends the turn in progress, and begins the next one if messages wait. */
  end(): void {
    if (this.#state === "turn") this.#state = "idle"
    this.#continue()
  }

  /** Ends the last turn. The fiber calls it. */
  close(): void {
    this.#state = "closed"
  }

  /** The fiber: performs what turns hand to it, until the loop is closed. Fails as a part of a turn does. */
  get run(): Effect.Effect<void, E, R> {
    return Effect.suspend(() => {
      this.#state = "idle"
      this.#continue()
      const perform = Effect.flatten(this.#next)
      return Effect.whileLoop({ while: () => this.isOpen, body: () => perform, step: () => undefined })
    }).pipe(Effect.ensuring(Effect.sync(() => this.close())))
  }

  /** Does a part of the turn in progress. What it throws ends the fiber, and reaches no one else. */
  attempt(part: () => void): void {
    try {
      part()
    } catch (cause) {
      this.perform(Effect.die(cause))
    }
  }

  /** Begins turns while messages wait. */
  #continue(): void {
    if (this.#isBeginning) return
    this.#isBeginning = true
    while (this.#state === "idle" && this.#messages.length > 0) {
      this.#state = "turn"
      this.attempt(() => this.#begin(this.takeWaiting()))
    }
    this.#isBeginning = false
  }

  /** What a turn hands over. */
  get #next(): Effect.Effect<Effect.Effect<unknown, E, R>> {
    const take = Effect.sync(() => {
      const work = this.#work
      this.#work = undefined
      return work ?? Effect.void
    })
    return Effect.suspend(() =>
      this.#work !== undefined
        ? take
        : Effect.callback((resume) => {
            this.#wake = () => resume(take)
            return Effect.sync(() => (this.#wake = undefined))
          })
    )
  }
}

const none: ReadonlyArray<never> = []
