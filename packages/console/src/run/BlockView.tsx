/** One block of the timeline. The table has a view for each kind of block. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { isClipped } from "@corral/domain/run/BoundedText"
import type { EndBlock, PatchBlock, RunBlock, StartBlock } from "@corral/domain/run/RunBlock"
import { memo, type ReactNode } from "react"
import { UserName } from "../approval/UserName.tsx"
import { Patch } from "../diff/Patch.tsx"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ApprovalView } from "./ApprovalView.tsx"
import { ArtifactLink } from "./ArtifactLink.tsx"
import { MessageView } from "./MessageView.tsx"
import { PreviewView } from "./PreviewView.tsx"
import { ToolView } from "./ToolView.tsx"
import { UsageText } from "./UsageText.tsx"
import { WholeText } from "./WholeText.tsx"
import { runMessages } from "./messages.ts"
import "./run.css"

interface Props {
  readonly block: RunBlock
  readonly runId: HubRun["id"]
  readonly projectId: HubRun["projectId"] | undefined
  readonly targetId: HubRun["targetId"]
  readonly isOver: boolean
  readonly onDiff: () => void
}

type ViewProps<B extends RunBlock> = Omit<Props, "block"> & {
  readonly block: B
  readonly messages: (typeof runMessages)["en"]
}

const PatchDetails = ({ block: { patch, path, seq }, runId, messages }: ViewProps<PatchBlock>) => (
  <details className="patch">
    <summary>
      {messages.proposes} <code>{visibleLine(path, 400)}</code>
    </summary>
    <Patch patch={patch.text} path={path} />
    {isClipped(patch) && (
      <WholeText runId={runId} bounded={patch} name={`patch ${seq}`} of={({ payload }) => payload["patch"]} />
    )}
  </details>
)

const StartLine = ({ block: { model, projectSettings, version }, messages }: ViewProps<StartBlock>) => (
  <p className="line quiet">
    {messages.started}
    {model !== undefined && ` · ${visibleLine(model, 100)}`}
    {version !== undefined && ` · ${visibleLine(version, 100)}`}
    {projectSettings !== undefined &&
      ` · ${messages.projectSettings[projectSettings.use]} ${visibleLine(projectSettings.files.join(", "), 500)}`}
  </p>
)

const RunEnd = ({ block, projectId, messages }: ViewProps<EndBlock>) => (
  <div className={`end end-${block.state}`}>
    <p>
      <strong>{messages.endings[block.state]}</strong>
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
          (<UserName by={block.by} projectId={projectId} />)
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

const views: {
  readonly [K in RunBlock["kind"]]: (props: ViewProps<Extract<RunBlock, { kind: K }>>) => ReactNode
} = {
  message: ({ block, isOver, runId }) => <MessageView block={block} runId={runId} isOver={isOver} />,
  tool: ({ block, runId }) => <ToolView block={block} runId={runId} />,
  approval: ({ block, isOver, projectId }) => (
    <ApprovalView block={block} projectId={projectId} isOver={isOver} />
  ),
  file: ({ block, messages }) => (
    <p className="line">
      <span className="quiet">{messages.fileChanges[block.change]}</span>{" "}
      <code>
        {block.fromPath !== undefined && `${visibleLine(block.fromPath, 400)} → `}
        {visibleLine(block.path, 400)}
      </code>
    </p>
  ),
  patch: (props) => <PatchDetails {...props} />,
  diff: ({ block, onDiff, messages }) => (
    <p className="line">
      {messages.diffReady(block.files)} <ins className="diff-plus">+{block.additions}</ins>{" "}
      <del className="diff-minus">−{block.deletions}</del>{" "}
      <button type="button" className="clipped-more" onClick={onDiff}>
        {messages.seeDiff}
      </button>
    </p>
  ),
  artifact: ({ block, runId, messages }) => (
    <p className="line">
      <span className="quiet">{messages.artifact}</span>{" "}
      <ArtifactLink runId={runId} artifactId={block.artifactId}>
        {visibleLine(block.name)}
      </ArtifactLink>{" "}
      <span className="quiet">
        {visibleLine(block.mediaType, 60)}, {messages.bytes(block.size)}
      </span>
    </p>
  ),
  preview: ({ block, projectId, runId, targetId }) => (
    <PreviewView {...{ block, projectId, runId, targetId }} />
  ),
  warning: ({ block, messages }) =>
    block.isRepeated ? null : (
      <p className="line warning">
        <strong>{messages.warning}</strong> {visibleLine(block.message, 2_000)}{" "}
        <code className="quiet">{block.code}</code>
      </p>
    ),
  retry: ({ block, messages }) => (
    <p className="line quiet">
      {messages.retrying(block.retry)}
      {block.retry.message !== undefined && ` · ${visibleLine(block.retry.message, 500)}`}
    </p>
  ),
  start: (props) => <StartLine {...props} />,
  gap: ({ block, messages }) => <p className="line warning">{messages.gap(block.from, block.to)}</p>,
  end: (props) => <RunEnd {...props} />
}

export const BlockView = memo((props: Props) => {
  const messages = useMessages(runMessages)
  // The view and the block have the same kind; TypeScript does not follow the indexed union.
  const view = views[props.block.kind] as (props: ViewProps<RunBlock>) => ReactNode
  return view({ ...props, messages })
})
