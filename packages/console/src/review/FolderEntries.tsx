/** Entries of a folder of the workspace. Folders load their entries when they are opened. */
import type { FileEntry } from "@corral/domain/device/Workspace"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/Loading.tsx"
import { FilesRefusal } from "./FilesRefusal.tsx"
import { MoreButton } from "../ui/ListMore.tsx"
import { reviewMessages } from "./messages.ts"
import "./tree.css"

interface Props {
  readonly run: HubRun
  /** Empty for the workspace. */
  readonly path: string
  readonly depth: number
  readonly onFile: (path: string) => void
}

/** Folders first, as in other trees. */
const inOrder = (entries: ReadonlyArray<FileEntry>): ReadonlyArray<FileEntry> => [
  ...entries.filter(({ kind }) => kind === "directory"),
  ...entries.filter(({ kind }) => kind !== "directory")
]

const FolderEntry = ({ depth, entry, onFile, run }: Omit<Props, "path"> & { readonly entry: FileEntry }) => {
  const messages = useMessages(reviewMessages)
  const [isOpen, setOpen] = useState(false)
  const { kind, name, path, size } = entry
  const isFolder = kind === "directory"
  const isReadable = isFolder || kind === "file"
  return (
    <li>
      <button
        type="button"
        className="tree-row"
        style={{ paddingInlineStart: `${0.5 + Math.min(depth, 12)}rem` }}
        {...(isFolder ? { "aria-expanded": isOpen } : {})}
        disabled={!isReadable}
        onClick={() => (isFolder ? setOpen(!isOpen) : onFile(path))}
      >
        <Icon name={isFolder ? (isOpen ? "folderOpen" : "folder") : "file"} />
        <span className="tree-name">{visibleLine(name, 400)}</span>{" "}
        <span className="tree-counts quiet">
          {size !== undefined && messages.size(size)}
          {!isReadable && messages.link}
        </span>
      </button>
      {isOpen && <FolderEntries run={run} path={path} depth={depth + 1} onFile={onFile} />}
    </li>
  )
}

export const FolderEntries = ({ depth, onFile, path, run }: Props) => {
  const messages = useMessages(reviewMessages)
  const { projectId, targetId, workspace } = run
  const list = useList<FileEntry>(["files", projectId, targetId, workspace, path], ({ page, signal }) =>
    hubApi.files.folder({
      params: { id: targetId, workspace },
      query: { ...page, limit: 200, projectId, ...(path === "" ? {} : { path }) },
      signal
    })
  )
  return (
    <>
      {list.isLoading && <Loading />}
      <FilesRefusal error={list.error} again={list.again} run={run} />
      {!list.isLoading && list.error === null && list.items.length === 0 && (
        <p className="quiet">{messages.emptyFolder}</p>
      )}
      <ul className="tree-rows">
        {inOrder(list.items).map((entry) => (
          <FolderEntry key={entry.path} run={run} entry={entry} depth={depth} onFile={onFile} />
        ))}
      </ul>
      {list.more !== undefined && (
        <MoreButton label={messages.moreFiles} isLoading={list.isLoadingMore} onMore={list.more} />
      )}
    </>
  )
}
