/**
 * Files of the workspace of a run, read from its device: a tree whose folders load when they are opened, and one file at a time. Bounded: the
 * Edge sends the first MiB of a file, and long text is expanded in steps. An offline device is a state, not an error.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { FileEntry } from "@corral/domain/device/Workspace"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { useTargetName } from "../api/ProjectsAndTargets.ts"
import { languageOfFile } from "../diff/languageOfFile.ts"
import { Code } from "../markdown/Code.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading, MoreButton } from "../ui/ListStates.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { reviewMessages } from "./messages.ts"
import "./review.css"
import "./tree.css"

interface FilesRefusalProps {
  readonly error: Error | null
  readonly again: () => void
  readonly run: HubRun
}

/** Why files of a workspace can't be read. An offline device is a state, not an error. */
const FilesRefusal = ({ again, error, run }: FilesRefusalProps) => {
  const messages = useMessages(reviewMessages)
  const device = visibleLine(useTargetName(run.targetId) ?? "", 60)
  if (!(error instanceof CorralError && error.code === "target_offline"))
    return <RefusalNote error={error} again={again} />
  return (
    <p className="panel-empty" role="status">
      <Icon name="offline" /> {messages.filesOffline(device)}{" "}
      <button type="button" className="button small" onClick={again}>
        {messages.again}
      </button>
    </p>
  )
}

interface FolderEntriesProps {
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

const FolderEntry = ({
  depth,
  entry,
  onFile,
  run
}: Omit<FolderEntriesProps, "path"> & { readonly entry: FileEntry }) => {
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

/** Entries of a folder of the workspace. Folders load their entries when they are opened. */
const FolderEntries = ({ depth, onFile, path, run }: FolderEntriesProps) => {
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

/**
 * A file of the workspace: its text with syntax colours, or a sentence. Bounded: the Edge sends the first MiB, and long text is expanded in steps.
 */
const FileView = ({ path, run }: { readonly run: HubRun; readonly path: string }) => {
  const messages = useMessages(reviewMessages)
  const { projectId, targetId, workspace } = run
  const { data, error, isLoading, refetch } = useQuery({
    queryKey: ["files", "content", projectId, targetId, workspace, path],
    queryFn: ({ signal }) =>
      hubApi.files.file({ params: { id: targetId, workspace }, query: { projectId, path }, signal }),
    gcTime: 0
  })
  if (isLoading) return <Loading />
  if (data === undefined) return <FilesRefusal error={error} again={() => void refetch()} run={run} />
  const { content, encoding, mediaType, size, truncated } = data
  if (encoding === "base64")
    return (
      <p className="panel-empty">
        {mediaType.startsWith("image/") ? messages.imageFile : messages.binaryFile} {messages.size(size)}
      </p>
    )
  if (content === "") return <p className="panel-empty">{messages.emptyFile}</p>
  return (
    <div className="file-view">
      {truncated === true && <p className="quiet">{messages.startOfFile(size)}</p>}
      <Code text={content} language={languageOfFile(path)} />
    </div>
  )
}

interface FilesTabProps {
  readonly run: HubRun
  readonly scope?: ReactNode
}

export const FilesTab = ({ run, scope }: FilesTabProps) => {
  const messages = useMessages(reviewMessages)
  const [path, setPath] = useState<string>()
  return (
    <>
      <div className="panel-bar">
        {path === undefined ? (
          <>
            {scope}
            <span className="quiet">{visibleLine(run.workspace, 80)}</span>
          </>
        ) : (
          <>
            <button
              type="button"
              className="icon-button"
              aria-label={messages.allFiles}
              title={messages.allFiles}
              onClick={() => setPath(undefined)}
            >
              <Icon name="back" />
            </button>
            <code className="panel-path">{visibleLine(path, 400)}</code>
          </>
        )}
      </div>
      <div className="panel-content" hidden={path !== undefined}>
        {run.worktree !== undefined && <p className="quiet">{messages.worktreeFiles}</p>}
        <FolderEntries run={run} path="" depth={0} onFile={setPath} />
      </div>
      {path !== undefined && (
        <div className="panel-content">
          <FileView run={run} path={path} />
        </div>
      )}
    </>
  )
}
