/** Files of the workspace of a run, read from its device: a tree, and one file at a time. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { type ReactNode, useState } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { FileView } from "./FileView.tsx"
import { FolderEntries } from "./FolderEntries.tsx"
import { reviewMessages } from "./messages.ts"
import "./review.css"
import "./tree.css"

interface Props {
  readonly run: HubRun
  readonly scope?: ReactNode
}

export const FilesTab = ({ run, scope }: Props) => {
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
