/** Tool call: name, state, input and output. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { memo } from "react"
import { ansiPieces } from "../markdown/ansi.ts"
import { Clipped } from "../markdown/Clipped.tsx"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ArtifactLink } from "./ArtifactLink.tsx"
import type { ToolBlock } from "@corral/domain/run/RunBlock"
import { isClipped } from "@corral/domain/run/BoundedText"
import { WholeText } from "./WholeText.tsx"
import { runMessages } from "./messages.ts"
import "./run.css"

const outputOf = ({ payload, type }: Envelope): unknown =>
  type === "run.tool.result" ? payload["output"] : undefined
const inputOf = ({ payload, type }: Envelope): unknown =>
  type === "run.tool.call" ? JSON.stringify(payload["input"], null, 2) : undefined
const allowedInputOf = ({ payload, type }: Envelope): unknown =>
  type === "run.approval.resolved" ? JSON.stringify(payload["allowedInput"], null, 2) : undefined

const Output = ({ text }: { readonly text: string }) => (
  <Clipped text={text} className="code terminal">
    {(part) =>
      ansiPieces(part).map((piece, at) => (
        <span key={at} className={piece.className}>
          {piece.text}
        </span>
      ))
    }
  </Clipped>
)

export const ToolView = memo(
  ({ block, runId }: { readonly block: ToolBlock; readonly runId: HubRun["id"] }) => {
    const messages = useMessages(runMessages)
    const { allowedInput, artifactId, exitCode, input, isWaiting, label, output, status, tool } = block
    const state = isWaiting ? "waiting" : status
    return (
      <details className={`tool tool-${status}`}>
        <summary>
          <span className="tool-name">{visibleLine(tool, 60)}</span>
          <code className="tool-label">{visibleLine(label)}</code>
          <span className={`tool-state tool-state-${state}`}>
            {allowedInput !== undefined && <strong className="tool-edited">{messages.inputEdited} · </strong>}
            {messages.toolStates[state]}
            {exitCode !== undefined && exitCode !== 0 && `, ${messages.exit(exitCode)}`}
          </span>
        </summary>
        {allowedInput !== undefined && (
          <>
            <h3>{messages.allowedInput}</h3>
            <Clipped text={visibleText(allowedInput.text)} className="code" />
            {isClipped(allowedInput) && (
              <WholeText
                runId={runId}
                bounded={allowedInput}
                name={`allowed ${block.seq}`}
                of={allowedInputOf}
              />
            )}
          </>
        )}
        {input !== undefined && (
          <>
            <h3>{allowedInput === undefined ? messages.input : messages.requestedInput}</h3>
            <Clipped text={visibleText(input.text)} className="code" />
            {isClipped(input) && (
              <WholeText runId={runId} bounded={input} name={`in ${block.seq}`} of={inputOf} />
            )}
          </>
        )}
        {status !== "started" && <h3>{messages.output}</h3>}
        {output !== undefined && output.text !== "" ? (
          <>
            {/* Removes remains of an escape sequence that was split between two parts. */}
            <Output text={output.text.includes("\u001b") ? output.text : visibleText(output.text)} />
            {isClipped(output) && <p className="quiet">{messages.rest}</p>}
            {isClipped(output) && artifactId === undefined && (
              <WholeText runId={runId} bounded={output} name={`out ${block.seq}`} of={outputOf} />
            )}
            {artifactId !== undefined && (
              <ArtifactLink runId={runId} artifactId={artifactId}>
                {messages.download}
              </ArtifactLink>
            )}
          </>
        ) : (
          status !== "started" && <p className="quiet">{messages.noOutput}</p>
        )}
      </details>
    )
  }
)
