/** Channel of the undecided changes of a session: the change set as the protocol has it, and the operations that decide it. */
import type { ChangedFile } from "@corral/domain/edge-api/ChangeSet"
import type { ChangedFileId, SessionId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { PlacedSession } from "./SessionViews.ts"
import type { ChangesetAction, StateAction } from "../protocol/Actions.ts"
import { contentAddress, fileAddress, parseContent } from "../protocol/Addresses.ts"
import { protocolError, type ProtocolError } from "../protocol/Messages.ts"
import type { ChangesetFile, ChangesetOperation, ChangesetState } from "../protocol/State.ts"
import { changesetReducer } from "../reducers/ChannelReducers.ts"
import type { ChangesDecision, HostChanges, HostRights, HostSession } from "./HostBackend.ts"
import type { Channel, HostClient } from "./HostClient.ts"
import { MAX_CHANGED_FILES, refusalOf } from "./Resources.ts"

const operations = { accept: "accept", reject: "reject" } as const

const side = (session: string, folder: string, file: ChangedFile, path: string, at: "before" | "after") => ({
  uri: fileAddress(`${folder}/${path}`),
  content: { uri: contentAddress({ session, file: file.id, side: at }, path) }
})

const changesetFile = (session: string, folder: string, file: ChangedFile): ChangesetFile => {
  const { additions, deletions, fromPath = file.path, path, status } = file
  return {
    id: file.id,
    edit: {
      ...(status === "added" ? {} : { before: side(session, folder, file, fromPath, "before") }),
      ...(status === "deleted" ? {} : { after: side(session, folder, file, path, "after") }),
      diff: { added: additions, removed: deletions }
    },
    _meta: {
      corral: {
        ...(file.apart === undefined ? {} : { apart: file.apart }),
        ...(file.conflict === undefined ? {} : { conflict: true })
      }
    }
  }
}

/** Accepting and rejecting, of everything and of a file. Parts that need a look of their own are never in "everything". */
const operationsOf = ({ set }: HostChanges, rights: HostRights): ReadonlyArray<ChangesetOperation> => {
  if (!rights.mayDecide || set.direct || set.state !== "open") return []
  const status = set.live ? ("disabled" as const) : ("idle" as const)
  const apart = set.apart === 0 ? "" : ` ${set.apart} need a decision of their own.`
  return [
    {
      id: operations.accept,
      label: "Accept",
      description: `Writes the changes into the workspace.${apart}`,
      scopes: ["changeset", "resource"],
      icon: "check",
      status
    },
    {
      id: operations.reject,
      label: "Reject",
      description: "Takes the changes out of the agent's copy. The agent hears of it with the next message.",
      scopes: ["changeset", "resource"],
      confirmation: "Reject these changes? They leave the agent's copy of the workspace.",
      icon: "discard",
      status
    }
  ]
}

/** `undefined`: there is no change set. */
const changesetState = (
  session: string,
  folder: string,
  changes: HostChanges | undefined,
  rights: HostRights
): ChangesetState => ({
  status: "ready",
  files: changes?.files.map((file) => changesetFile(session, folder, file)) ?? [],
  operations: changes === undefined ? [] : operationsOf(changes, rights)
})

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
