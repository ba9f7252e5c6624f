/** What exactly would happen: the action and its risk in words, then the command, the files, the address, whatever of it there is. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { Patch } from "../diff/Patch.tsx"
import { Clipped } from "../markdown/Clipped.tsx"
import { oneLine, visible } from "../markdown/visible.ts"
import { useWords } from "../text/Language.tsx"
import { Segments } from "./Segments.tsx"
import { approvalWords } from "./messages.ts"
import "./approval.css"

interface Props {
  readonly request: ApprovalRequest
  /** Then it says what was requested, not what would happen. */
  readonly isDecided?: boolean
}

export const RequestView = ({ isDecided = false, request }: Props) => {
  const words = useWords(approvalWords)
  const { action, command, cwd, files, input, patch, reason, risk, segments, tool, url } = request
  return (
    <div className="request">
      <p>
        <span className={`risk risk-${risk}`} title={words.riskHints[risk]}>
          {words.risks[risk] ?? risk}
        </span>{" "}
        {(isDecided ? words.wanted : words.wants)(words.actions[action] ?? action)}{" "}
        {!isDecided && <span className="quiet">{words.riskHints[risk]}</span>}
      </p>
      {command !== undefined && (
        <>
          <h3>{isDecided ? words.commandRequested : words.command}</h3>
          <Clipped text={visible(command)} className="code" />
        </>
      )}
      {segments !== undefined && segments.length > 0 && <Segments segments={segments} />}
      <dl className="request-facts">
        {cwd !== undefined && (
          <div>
            <dt>{words.cwd}</dt>
            <dd>
              <code>{oneLine(cwd, 500)}</code>
            </dd>
          </div>
        )}
        {url !== undefined && (
          <div>
            <dt>{words.url}</dt>
            <dd>
              {/* Not a link: to look there may be what was to be decided. */}
              <code>{oneLine(url, 2_000)}</code>
            </dd>
          </div>
        )}
        {files !== undefined && files.length > 0 && (
          <div>
            <dt>{words.files}</dt>
            <dd>
              <ul>
                {files.slice(0, 100).map((file) => (
                  <li key={file}>
                    <code>{oneLine(file, 500)}</code>
                  </li>
                ))}
                {files.length > 100 && <li>… {files.length}</li>}
              </ul>
            </dd>
          </div>
        )}
        {reason !== undefined && (
          <div>
            <dt>{words.reason}</dt>
            <dd>{oneLine(reason, 2_000)}</dd>
          </div>
        )}
        {tool !== undefined && (
          <div>
            <dt>{words.tool}</dt>
            <dd>{oneLine(tool, 100)}</dd>
          </div>
        )}
      </dl>
      {patch !== undefined && (
        <>
          <h3>{words.patch}</h3>
          <Patch patch={patch} path={files?.[0] ?? ""} />
        </>
      )}
      {input !== undefined && (
        <details open={command === undefined && patch === undefined && url === undefined}>
          <summary>{words.input}</summary>
          <Clipped text={visible(JSON.stringify(input, null, 2) ?? "")} className="code" />
        </details>
      )}
    </div>
  )
}
