/** One block of the timeline. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { memo } from "react"
import { PersonName } from "../approval/PersonName.tsx"
import { Patch } from "../diff/Patch.tsx"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ApprovalView } from "./ApprovalView.tsx"
import { ArtifactLink } from "./ArtifactLink.tsx"
import type { Block } from "./Block.ts"
import { isClipped } from "./kept.ts"
import { MessageView } from "./MessageView.tsx"
import { PreviewView } from "./PreviewView.tsx"
import { ToolView } from "./ToolView.tsx"
import { UsageText } from "./UsageText.tsx"
import { WholeText } from "./WholeText.tsx"
import { runMessages } from "./messages.ts"
import "./run.css"

interface Props {
  readonly block: Block
  readonly runId: HubRun["id"]
  readonly projectId: HubRun["projectId"] | undefined
  readonly targetId: HubRun["targetId"]
  readonly isOver: boolean
  readonly onDiff: () => void
}

export const BlockView = memo(({ block, isOver, onDiff, projectId, runId, targetId }: Props) => {
  const words = useMessages(runMessages)
  switch (block.kind) {
    case "message":
      return <MessageView block={block} runId={runId} isOver={isOver} />
    case "tool":
      return <ToolView block={block} runId={runId} />
    case "approval":
      return <ApprovalView block={block} projectId={projectId} isOver={isOver} />
    case "file":
      return (
        <p className="line">
          <span className="quiet">{words.fileChanges[block.change]}</span>{" "}
          <code>
            {block.fromPath !== undefined && `${visibleLine(block.fromPath, 400)} → `}
            {visibleLine(block.path, 400)}
          </code>
        </p>
      )
    case "patch":
      return (
        <details className="patch">
          <summary>
            {words.proposes} <code>{visibleLine(block.path, 400)}</code>
          </summary>
          <Patch patch={block.patch.text} path={block.path} />
          {isClipped(block.patch) && (
            <WholeText
              runId={runId}
              kept={block.patch}
              name={`patch ${block.seq}`}
              of={({ payload }) => payload["patch"]}
            />
          )}
        </details>
      )
    case "diff":
      return (
        <p className="line">
          {words.diffReady(block.files)} <ins className="diff-plus">+{block.additions}</ins>{" "}
          <del className="diff-minus">−{block.deletions}</del>{" "}
          <button type="button" className="clipped-more" onClick={onDiff}>
            {words.seeDiff}
          </button>
        </p>
      )
    case "artifact":
      return (
        <p className="line">
          <span className="quiet">{words.artifact}</span>{" "}
          <ArtifactLink runId={runId} artifactId={block.artifactId}>
            {visibleLine(block.name)}
          </ArtifactLink>{" "}
          <span className="quiet">
            {visibleLine(block.mediaType, 60)}, {words.bytes(block.size)}
          </span>
        </p>
      )
    case "preview":
      return <PreviewView {...{ block, projectId, runId, targetId }} />
    case "warning":
      if (block.isRepeated) return null
      return (
        <p className="line warning">
          <strong>{words.warning}</strong> {visibleLine(block.message, 2_000)}{" "}
          <code className="quiet">{block.code}</code>
        </p>
      )
    case "retry":
      return (
        <p className="line quiet">
          {words.retrying(block.retry)}
          {block.retry.message !== undefined && ` · ${visibleLine(block.retry.message, 500)}`}
        </p>
      )
    case "start":
      return (
        <p className="line quiet">
          {words.started}
          {block.model !== undefined && ` · ${visibleLine(block.model, 100)}`}
          {block.version !== undefined && ` · ${visibleLine(block.version, 100)}`}
          {block.projectSettings !== undefined &&
            ` · ${words.projectSettings[block.projectSettings.use]} ${visibleLine(block.projectSettings.files.join(", "), 500)}`}
        </p>
      )
    case "gap":
      return <p className="line warning">{words.gap(block.from, block.to)}</p>
    case "end":
      return (
        <div className={`end end-${block.state}`}>
          <p>
            <strong>{words.endings[block.state]}</strong>
            {block.error !== undefined && (
              <>
                {" "}
                {visibleText(block.error.message)}{" "}
                <code className="quiet">{visibleLine(block.error.code, 80)}</code>
              </>
            )}
            {block.reason !== undefined && ` ${visibleLine(block.reason, 1_000)}`}
            {block.by !== undefined && (
              <>
                {" "}
                (<PersonName by={block.by} projectId={projectId} />)
              </>
            )}
          </p>
          {block.usage !== undefined && (
            <p className="quiet">
              <UsageText usage={block.usage} />
            </p>
          )}
        </div>
      )
  }
})
