/** Change sets as changesets of the protocol, with the operations that decide them, and the versions of a file from its hunks. Pure. */
import type { ChangedFile, ChangedFileContent } from "@corral/domain/edge-api/ChangeSet"
import type { HostChanges, HostRights } from "./HostBackend.ts"
import { contentAddress, fileAddress } from "../protocol/Addresses.ts"
import type { ChangesetFile, ChangesetOperation, ChangesetState } from "../protocol/State.ts"

export const operations = { accept: "accept", reject: "reject" } as const

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
export const changesetState = (
  session: string,
  folder: string,
  changes: HostChanges | undefined,
  rights: HostRights
): ChangesetState => ({
  status: "ready",
  files: changes?.files.map((file) => changesetFile(session, folder, file)) ?? [],
  operations: changes === undefined ? [] : operationsOf(changes, rights)
})

const left = { before: "+", after: "-" } as const

/** Lines of one version that the hunks show. Lines that they leave out are marked. */
export const contentOfHunks = (
  { items }: Pick<ChangedFileContent, "items">,
  version: "before" | "after"
): string =>
  items
    .map(({ lines, newStart, oldStart }, at) => {
      const before = items[at - 1]
      const end = before === undefined ? 1 : before.oldStart + before.oldLines
      const isApart = before === undefined ? Math.min(oldStart, newStart) > 1 : oldStart > end
      const shown = lines.filter((line) => !line.startsWith(left[version]) && !line.startsWith("\\"))
      return `${isApart ? "⋯\n" : ""}${shown.map((line) => `${line.slice(1)}\n`).join("")}`
    })
    .join("")
