/** Results of the checks of a candidate: a mark and a word for each, and its output in a dialog. */
import { Dialog } from "@base-ui/react/dialog"
import type { CheckResult, CheckState } from "@corral/domain/run/Check"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { formatDuration } from "../text/Duration.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { groupMessages } from "./messages.ts"
import "./group.css"

const shapes: { readonly [S in CheckState]: string } = {
  waiting: "○",
  running: "●",
  passed: "✓",
  failed: "✕",
  timed_out: "✕",
  stopped: "■",
  unavailable: "⊘"
}

/** One result, which opens what the command printed. */
const CheckMark = ({ result }: { readonly result: CheckResult }) => {
  const messages = useMessages(groupMessages)
  const { language } = useLanguage()
  const { command, durationMs, exitCode, name, output = "", reason, state, truncated } = result
  const word = messages.checkStates[state]
  const facts = [
    word,
    ...(exitCode === undefined ? [] : [messages.exitCode(exitCode)]),
    ...(durationMs === undefined ? [] : [formatDuration(durationMs, language)])
  ]
  return (
    <Dialog.Root>
      <Dialog.Trigger className={`check-mark check-${state}`}>
        <span aria-hidden="true">{shapes[state]}</span>{" "}
        <span className="check-name">{messages.check(visibleLine(name, 60), word)}</span>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog check-dialog">
          <Dialog.Title className="dialog-title">{messages.checkOutput(visibleLine(name, 60))}</Dialog.Title>
          <p>
            <code className="check-command">{visibleText(command)}</code>
          </p>
          <p className={`check-${state}`}>
            <span aria-hidden="true">{shapes[state]}</span> {facts.join(" · ")}
          </p>
          {reason !== undefined && <p>{visibleLine(reason, 1_000)}</p>}
          {truncated === true && <p className="quiet">{messages.outputCut}</p>}
          {output === "" ? (
            state !== "unavailable" && state !== "waiting" && <p className="quiet">{messages.noOutput}</p>
          ) : (
            <pre
              className="code check-output"
              tabIndex={0}
              role="region"
              aria-label={messages.checkOutput(name)}
            >
              {visibleText(output)}
            </pre>
          )}
          <div className="dialog-actions">
            <Dialog.Close className="button">{messages.close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

export const CheckMarks = ({ results }: { readonly results: ReadonlyArray<CheckResult> }) => (
  <span className="check-marks">
    {results.map((result) => (
      <CheckMark key={result.name} result={result} />
    ))}
  </span>
)
