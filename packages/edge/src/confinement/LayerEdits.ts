/**
 * Approved edits of protected folders by a run in a layer. The run makes them in copies, as one without a layer does. They reach the layer when the
 * run ends, because a live run has the layer mounted. There they are changes like others, and a person accepts them by name.
 *
 * Guarantees: nothing reaches the workspace. The layer receives exactly the contents that approvals showed.
 * Does not: watch other protected names. What of them reaches the workspace is decided by the changes.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { AdapterEvent, ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { type Clock, Effect, Latch } from "effect"
import { workspacePathsAt } from "../approval/PathTarget.ts"
import { attemptFiles, type GitFailed } from "../workspace/Git.ts"
import { ProtectedCopies, type ProtectedCopiesState, writeEdit } from "./ProtectedCopies.ts"
import type { ProtectedRecord } from "./ProtectedRecord.ts"
import { protectedChanged, type RunProtection } from "./ProtectedWatch.ts"

/** Uses the folder in which the files of the layer are written. No run is live in it. */
export type UseLayer = <A>(
  use: (top: string) => Effect.Effect<A, GitFailed>
) => Effect.Effect<A, { readonly message: string }>

export class LayerEdits implements RunProtection {
  readonly copies: ProtectedCopies
  readonly #record: ProtectedRecord<ProtectedCopiesState> | undefined
  readonly #withLayer: UseLayer
  readonly #due = Latch.makeUnsafe(false)

  /** `root`: real path of the workspace. `record`: for the next Edge. */
  constructor(
    root: string,
    clock: Clock.Clock,
    record: ProtectedRecord<ProtectedCopiesState> | undefined,
    withLayer: UseLayer
  ) {
    this.copies = new ProtectedCopies(workspacePathsAt(root), () => clock.currentTimeMillisUnsafe())
    this.#record = record
    this.#withLayer = withLayer
  }

  readonly start: Effect.Effect<void> = Effect.sync(() => this.#save())

  readonly continue: Effect.Effect<void> = Effect.sync(() => {
    const state = this.#record?.read()
    if (state !== undefined) this.copies.restore(state)
    this.callEnded()
  })

  removeRecord(): void {
    this.#record?.remove()
  }

  allow(request: ApprovalRequest, answer: ApprovalAnswer): void {
    this.copies.allow(request, answer)
    this.#save()
  }

  callEnded(): void {
    this.#due.openUnsafe()
  }

  /** Collects the edits that the run has made. */
  readonly follow = (): Effect.Effect<never> =>
    Effect.gen({ self: this }, function* () {
      for (;;) {
        yield* this.#due.await
        this.#due.closeUnsafe()
        this.copies.settle()
        this.#save()
      }
    })

  /** Gives the layer the edits. Repeated, it writes nothing that the layer has. */
  readonly review: Effect.Effect<ReadonlyArray<RunMachineInput>> = Effect.suspend(() => {
    this.copies.settle()
    return Effect.map(this.#delivered, (lost): ReadonlyArray<RunMachineInput> => {
      const changes = [
        ...this.copies.discarded(),
        ...lost.map((path) => ({ path, change: "modified", discarded: true }) as const)
      ]
      const event: AdapterEvent | undefined = changes.length === 0 ? undefined : protectedChanged(changes)
      return event === undefined ? [] : [{ _tag: "EventEmitted", event }]
    })
  })

  /** Succeeds with the paths that the layer did not get. */
  get #delivered(): Effect.Effect<ReadonlyArray<string>> {
    const { edits } = this.copies
    if (edits.size === 0) return Effect.succeed([])
    return this.#withLayer((top) =>
      attemptFiles(() => [...edits].flatMap(([path, text]) => (writeEdit(top, path, text) ? [] : [path])))
    ).pipe(
      Effect.tapError(({ message }) =>
        Effect.logWarning("failed to write approved edits into a layer", { cause: message })
      ),
      Effect.orElseSucceed(() => [...edits.keys()])
    )
  }

  #save(): void {
    this.#record?.write(this.copies.state)
  }
}
