/** Output of an action: colours of the terminal, clipped, with a way to the rest. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import { isClipped } from "@corral/domain/run/BoundedText"
import type { ToolBlock } from "@corral/domain/run/RunBlock"
import { splitEnds } from "@corral/domain/text/Cut"
import { ansiPieces } from "../markdown/ansi.ts"
import { Clipped } from "../markdown/Clipped.tsx"
import { markdownMessages } from "../markdown/messages.ts"
import { visibleText } from "../markdown/visible.ts"
import { ArtifactLink } from "../review/ArtifactLink.tsx"
import { WholeText } from "../run/WholeText.tsx"
import { runMessages } from "../run/messages.ts"
import { useMessages } from "../text/Language.tsx"
import type { RunPlace } from "./RunPlace.ts"
import "../markdown/markdown.css"
import "./work.css"

/** Lines at the end of a failed output that are always visible. */
const TAIL_LINES = 5
const TAIL_CHARACTERS = 1_000

const outputOf =
  (callId: string) =>
  ({ payload, type }: Envelope): unknown =>
    type === "run.tool.result" && payload["callId"] === callId ? payload["output"] : undefined

const pieces = (text: string) =>
  ansiPieces(text).map((piece, at) => (
    <span key={at} className={piece.className}>
      {piece.text}
    </span>
  ))

/** Removes remains of an escape sequence that was split between two parts. */
const cleaned = (text: string): string => (text.includes("\u001b") ? text : visibleText(text))

/** The last lines of a failed output. */
export const OutputTail = ({ text }: { readonly text: string }) => {
  const lines = text.slice(-TAIL_CHARACTERS).toWellFormed().trimEnd().split("\n").slice(-TAIL_LINES)
  return <pre className="action-tail">{pieces(cleaned(lines.join("\n")))}</pre>
}

interface Props {
  readonly tool: ToolBlock
  readonly place: RunPlace
}

export const ActionOutput = ({
  place: { runId },
  tool: { artifactId, callId, content, output, seq }
}: Props) => {
  const messages = useMessages(runMessages)
  const { copyOutput } = useMessages(markdownMessages)
  if (output === undefined || output.text === "")
    // An image is in view above.
    return content === undefined ? <p className="quiet">{messages.noOutput}</p> : null
  const ends = isClipped(output) && output.skipped === 0 ? splitEnds(output.text) : undefined
  // Of an output that was cut at its end, the start is what there is.
  const hasEnd = ends !== undefined || output.skipped > 0 || !isClipped(output)
  return (
    <>
      {ends !== undefined && (
        <>
          <Clipped text={cleaned(ends.start)} className="code terminal">
            {pieces}
          </Clipped>
          <p className="quiet">{messages.leftOut(ends.missing)}</p>
        </>
      )}
      <Clipped
        text={cleaned(ends?.end ?? output.text)}
        className="code terminal"
        isEnd={hasEnd}
        copies={copyOutput}
      >
        {pieces}
      </Clipped>
      {isClipped(output) && ends === undefined && (
        <p className="quiet">{hasEnd ? messages.earlier : messages.rest}</p>
      )}
      {isClipped(output) && artifactId === undefined && (
        <WholeText runId={runId} bounded={output} name={`out ${seq}`} of={outputOf(callId)} />
      )}
      {artifactId !== undefined && (
        <ArtifactLink runId={runId} artifactId={artifactId}>
          {messages.download}
        </ArtifactLink>
      )}
    </>
  )
}
