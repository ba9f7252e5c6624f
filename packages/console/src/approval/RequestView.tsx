/**
 * A request for an approval: who asks and where the action would happen, and the action: risk, command with its segments as the Edge parsed them,
 * files, URL and other available fields. A note warns that a decision can't reach the run.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { ApprovalRequest, CommandSegment } from "@corral/domain/approval/Approval"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import type { Ref } from "react"
import { hubApi } from "../api/Hub.ts"
import { useAgentName, useTargetName } from "../api/ProjectsAndTargets.ts"
import { Patch } from "../diff/Patch.tsx"
import { Clipped } from "../markdown/Clipped.tsx"
import { markdownMessages } from "../markdown/messages.ts"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { phone, useMedia } from "../ui/useMedia.ts"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

const MOST = 100

/** Segments of a command as parsed by the Edge: each program, and each part that can't be determined in advance. */
const Segments = ({ segments }: { readonly segments: ReadonlyArray<CommandSegment> }) => {
  const messages = useMessages(approvalMessages)
  const isPhone = useMedia(phone)
  // On a phone the command has the room. What can't be read in advance is never folded.
  const isOpen = !isPhone || segments.some(({ opaque }) => opaque !== undefined)
  return (
    <details className="segments-fold" open={isOpen}>
      <summary>{messages.segments(segments.length)}</summary>
      <ol className="segments">
        {segments.slice(0, MOST).map(({ opaque, program, text }, at) => (
          <li key={at} className={opaque === undefined ? "" : "segment-opaque"}>
            <code>{visibleLine(text, 1_000)}</code>
            {program !== undefined && !text.startsWith(`${program} `) && text !== program && (
              <span className="quiet"> {messages.program(visibleLine(program, 100))}</span>
            )}
            {opaque !== undefined && (
              <p className="segment-why">⚠ {messages.opaque(visibleLine(opaque, 300))}</p>
            )}
          </li>
        ))}
      </ol>
      {segments.length > MOST && <p>… {segments.length}</p>}
    </details>
  )
}

/** A single plain command is the command itself. */
const isWorthReading = (segments: ReadonlyArray<CommandSegment>): boolean =>
  segments.length > 1 || segments.some(({ opaque }) => opaque !== undefined)

interface RequestViewProps {
  readonly request: ApprovalRequest
  /** Whether the request is decided. The text is then in the past tense. */
  readonly isDecided?: boolean
  /** Whether no part waits behind a button. */
  readonly isWhole?: boolean
  readonly ref?: Ref<HTMLDivElement>
}

/** Where the action happens, what it touches, and why the agent wants it. */
const RequestFacts = ({ request }: Pick<RequestViewProps, "request">) => {
  const messages = useMessages(approvalMessages)
  const { command, cwd, files, patch, reason, tool, url } = request
  return (
    <dl className="request-facts">
      {cwd !== undefined && cwd !== "." && (
        <div>
          <dt>{messages.cwd}</dt>
          <dd>
            <code>{visibleLine(cwd, 500)}</code>
          </dd>
        </div>
      )}
      {url !== undefined && (
        <div>
          <dt>{messages.url}</dt>
          <dd>
            {/* Not a link: opening the URL may be the action to decide. */}
            <code>{visibleLine(url, 2_000)}</code>
          </dd>
        </div>
      )}
      {files !== undefined && files.length > 0 && (
        <div>
          <dt>{messages.files}</dt>
          <dd>
            <ul>
              {files.slice(0, 100).map((file) => (
                <li key={file}>
                  <code>{visibleLine(file, 500)}</code>
                </li>
              ))}
              {files.length > 100 && <li>… {files.length}</li>}
            </ul>
          </dd>
        </div>
      )}
      {reason !== undefined && (
        <div>
          <dt>{messages.reason}</dt>
          <dd>{visibleLine(reason, 2_000)}</dd>
        </div>
      )}
      {tool !== undefined && command === undefined && patch === undefined && (
        <div>
          <dt>{messages.tool}</dt>
          <dd>{visibleLine(tool, 100)}</dd>
        </div>
      )}
    </dl>
  )
}

/** Requested action: risk, command with its segments as the Edge parsed them, files, URL and other available fields. */
export const RequestView = ({ isDecided = false, isWhole = false, ref, request }: RequestViewProps) => {
  const messages = useMessages(approvalMessages)
  const { copyCommand } = useMessages(markdownMessages)
  const { language } = useLanguage()
  const { action, command, files, input, patch, risk, segments, url } = request
  return (
    <div ref={ref} className="request">
      <p>
        <span className={`risk risk-${risk}`} title={messages.riskHints[risk]}>
          {messages.risks[risk] ?? risk}
        </span>{" "}
        {(isDecided ? messages.wanted : messages.wants)(messages.actions[action] ?? action)}
        {sentenceSpace[language]}
        {!isDecided && <span className="quiet">{messages.riskHints[risk]}</span>}
      </p>
      {command !== undefined && (
        <>
          <h3 className={isDecided ? "" : "hidden"}>
            {isDecided ? messages.commandRequested : messages.command}
          </h3>
          <Clipped text={visibleText(command)} className="code" isWhole={isWhole} copies={copyCommand} />
        </>
      )}
      {segments !== undefined && isWorthReading(segments) && <Segments segments={segments} />}
      <RequestFacts request={request} />
      {patch !== undefined && (
        <>
          <h3>{messages.patch}</h3>
          <Patch patch={patch} path={files?.[0] ?? ""} isWhole={isWhole} />
        </>
      )}
      {input !== undefined && (
        <details open={command === undefined && patch === undefined && url === undefined}>
          <summary>{messages.input}</summary>
          <Clipped
            text={visibleText(JSON.stringify(input, null, 2) ?? "")}
            className="code"
            isWhole={isWhole}
          />
        </details>
      )}
    </div>
  )
}

/** Who asks, and where the action would happen: agent, device and workspace. One line, so that names that come late move nothing. */
export const Requester = ({
  approval: { agentId, targetId, workspace }
}: {
  readonly approval: Pick<HubApproval, "agentId" | "targetId" | "workspace">
}) => {
  const agent = useAgentName(targetId, agentId)
  const target = useTargetName(targetId)
  const names = [agent, target, workspace].filter((name) => name !== undefined)
  return (
    <p className="requester">
      <bdi>{names.map((name) => visibleLine(name, 60)).join(" · ")}</bdi>
    </p>
  )
}

/**
 * Who asks, and where the action would happen; and a warning that a decision can't reach the run: its device is disconnected, revoked, or no
 * longer shared with the project.
 */
export const TargetNote = ({ approval: { targetId } }: { readonly approval: HubApproval }) => {
  const messages = useMessages(approvalMessages)
  const { data: device, error } = useQuery({
    queryKey: ["devices", "one", targetId],
    queryFn: ({ signal }) => hubApi.devices.get({ params: { id: targetId }, signal })
  })
  const name = visibleLine(device?.name ?? "", 100)
  const isGone = error instanceof CorralError && error.code === "permission_denied"
  const sentence = isGone
    ? messages.targetGone
    : device?.state === "revoked"
      ? messages.targetRevoked(name)
      : device?.state === "offline"
        ? messages.targetOffline(name)
        : undefined
  return (
    <p role="status" className={sentence === undefined ? "hidden" : "target-note"}>
      {sentence}
    </p>
  )
}
