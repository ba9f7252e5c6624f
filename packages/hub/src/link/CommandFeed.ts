/**
 * Commands of one stream of a link: claimed when the link is woken, or offered by this process, and held until the Edge has room for them.
 *
 * Guarantees: a wake-up during a claim causes another claim. A claim that fails is repeated after a second. Costs nothing while no command comes.
 */
import type { EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { type Cause, Effect, Queue } from "effect"
import type { SqlError } from "effect/sql"
import type { ClaimedCommands } from "../edges/CommandTable.ts"

/** Commands that are claimed before the Edge reads them. */
const CAPACITY = 16

const NOTHING_CLAIMED: ClaimedCommands = { commands: [], hasMore: false }

export interface CommandFeedOptions {
  /** Whether the first claim is worth it: it is one of many when devices connect, and most devices have no commands. */
  readonly hasCommands: Effect.Effect<boolean, SqlError.SqlError>
  readonly claim: Effect.Effect<ClaimedCommands, SqlError.SqlError>
  /** Starts an effect of the link. */
  readonly run: (effect: Effect.Effect<void>) => void
}

export class CommandFeed {
  readonly queue: Queue.Queue<EdgeCommand, Cause.Done>
  private readonly options: CommandFeedOptions
  private isDue = false
  private isClaiming = false
  private isEnded = false
  private isFirst = true

  private constructor(queue: CommandFeed["queue"], options: CommandFeedOptions) {
    this.queue = queue
    this.options = options
  }

  static make(options: CommandFeedOptions): Effect.Effect<CommandFeed> {
    return Effect.map(
      Queue.bounded<EdgeCommand, Cause.Done>(CAPACITY),
      (queue) => new CommandFeed(queue, options)
    )
  }

  /** Claims commands: there may be new ones. */
  wake(): void {
    this.isDue = true
    if (this.isClaiming || this.isEnded) return
    this.isClaiming = true
    this.options.run(this.claimDue)
  }

  /** Whether the next command would be sent immediately. */
  get isIdle(): boolean {
    return !this.isDue && !this.isClaiming && !this.isEnded && Queue.sizeUnsafe(this.queue) === 0
  }

  /** Sends a command that was not claimed but stored as sent. */
  offer(command: EdgeCommand): void {
    if (!Queue.offerUnsafe(this.queue, command))
      this.options.run(Effect.asVoid(Queue.offer(this.queue, command)))
  }

  /** Ends the stream. */
  end(): void {
    this.isEnded = true
    Queue.endUnsafe(this.queue)
  }

  private readonly claimDue: Effect.Effect<void> = Effect.suspend(() =>
    Effect.whileLoop({
      while: () => {
        this.isClaiming = this.isDue && !this.isEnded
        this.isDue = false
        return this.isClaiming
      },
      body: () => this.claimOnce,
      step: () => undefined
    })
  )

  private readonly claimOnce: Effect.Effect<void> = Effect.suspend(() =>
    this.isFirst ? this.options.hasCommands : Effect.succeed(true)
  ).pipe(
    Effect.flatMap((isWorthIt) => {
      this.isFirst = false
      return isWorthIt ? this.options.claim : Effect.succeed(NOTHING_CLAIMED)
    }),
    Effect.flatMap(({ commands, hasMore }) => {
      if (hasMore) this.isDue = true
      return Effect.asVoid(Queue.offerAll(this.queue, commands))
    }),
    Effect.catch((error) => {
      this.isDue = true
      return Effect.delay(Effect.logWarning("failed to claim commands", error), "1 second")
    })
  )
}
