/** Channel of the undecided changes of a session, and the operations that decide them. */
import type { ChangedFileId, SessionId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { changesetState, operations } from "./ChangesetViews.ts"
import type { PlacedSession } from "./SessionViews.ts"
import type { ChangesetAction, StateAction } from "../protocol/Actions.ts"
import { parseContent } from "../protocol/Addresses.ts"
import { protocolError, type ProtocolError } from "../protocol/Messages.ts"
import type { ChangesetState } from "../protocol/State.ts"
import { changesetReducer } from "../reducers/ChannelReducers.ts"
import type { ChangesDecision, HostChanges, HostSession } from "./HostBackend.ts"
import type { Channel, HostClient } from "./HostClient.ts"
import { MAX_CHANGED_FILES, refusalOf } from "./Resources.ts"

/** A file that an operation is about, as the client names it. */
export type OperationTarget = { readonly resource: string } | undefined

export class ChangesetChannel implements Channel {
  readonly address: string
  readonly sessionId: SessionId
  private readonly client: HostClient
  private placed: PlacedSession
  private changes: HostChanges | undefined
  private state: ChangesetState = { status: "computing", files: [] }
  private decisions = 0

  constructor(client: HostClient, address: string, placed: PlacedSession) {
    this.client = client
    this.address = address
    this.placed = placed
    this.sessionId = placed.session.id
  }

  snapshot(): ChangesetState {
    return this.state
  }

  reduce(action: StateAction): void {
    this.state = changesetReducer(this.state, action as ChangesetAction) // actions of other channels change nothing
  }

  close(): void {
    // It follows nothing itself.
  }

  /** A session without changes has an empty one. */
  readonly load: Effect.Effect<void, ProtocolError> = Effect.suspend(() => {
    const { defaultChat: chatId, id: sessionId } = this.placed.session
    return this.client.backend.changes({ sessionId, chatId, limit: MAX_CHANGED_FILES }).pipe(
      Effect.catch((failure) =>
        failure.code === "not_found" ? Effect.succeed(undefined) : Effect.fail(refusalOf(failure))
      ),
      Effect.map((changes) => {
        this.changes = changes
        this.state = this.read()
      })
    )
  })

  private read(): ChangesetState {
    const { address, folder, session } = this.placed
    return changesetState(address, folder, this.changes, session.rights)
  }

  refresh(session: HostSession): void {
    const placed = this.client.place(session)
    if (placed === undefined) return
    this.placed = placed
    const before = this.state
    this.client.run(
      Effect.map(Effect.ignore(this.load), () => {
        const { files, operations: offered = [] } = this.state
        this.state = before
        if (JSON.stringify(before) === JSON.stringify({ ...before, files, operations: offered })) return
        this.client.publish(this, { type: "changeset/contentChanged", files, operations: offered })
      })
    )
  }

  /** Decides all of the set but what is apart, or one file. */
  decide(operationId: string, target: OperationTarget): Effect.Effect<unknown, ProtocolError> {
    const { changes } = this
    const kind = [operations.accept, operations.reject].find((each) => each === operationId)
    const operation = this.state.operations?.find(({ id }) => id === operationId)
    if (changes === undefined || kind === undefined || operation === undefined)
      return Effect.fail(protocolError("invalidParams", "This operation is not offered."))
    const file = target === undefined ? undefined : this.fileOf(changes, target.resource)
    if (target !== undefined && file === undefined)
      return Effect.fail(protocolError("invalidParams", "The changes have no such file."))
    const parts =
      file === undefined
        ? { all: true as const, version: changes.set.version }
        : { files: [file.id], versions: { [file.id]: file.version } }
    const decision: ChangesDecision = { kind, payload: { parts } }
    const key = `${this.client.clientId}:${kind}:${changes.set.id}:${file?.version ?? changes.set.version}:${this.decisions++}`
    return this.client.backend.decideChanges(changes.set.runId, decision, key).pipe(
      Effect.mapError(refusalOf),
      Effect.map(({ decision: { fileCount } }) => {
        this.client.touch(this.sessionId)
        const done = kind === "accept" ? "Accepted" : "Rejected"
        return { message: `${done}: ${fileCount} ${fileCount === 1 ? "file" : "files"}` }
      })
    )
  }

  /** By its id, by the address of its content, or by its own address. */
  private fileOf({ files }: HostChanges, resource: string) {
    const id = parseContent(resource)?.file ?? resource
    const isNamed = ({ edit }: ChangesetState["files"][number]) =>
      edit.after?.uri === resource || edit.before?.uri === resource
    const named = this.state.files.find((file) => file.id === id || isNamed(file))
    return files.find((file) => file.id === (named?.id as ChangedFileId | undefined)) // ids of the same set
  }
}
