/** An address that the agent asks the person to open. Only a click of the person opens it. */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { CopyButton } from "../ui/CopyButton.tsx"
import { Icon } from "../ui/Icon.tsx"
import type { AnswerMutation } from "./useAnswer.ts"
import { SkipButton } from "./SkipButton.tsx"
import { inputMessages } from "./messages.ts"
import "../approval/approval.css"
import "./input.css"

interface Props {
  readonly input: HubInput
  readonly answer: AnswerMutation
}

/** The address, if it is a web page. */
export const webPageOf = (address: string): URL | undefined => {
  const url = URL.canParse(address) ? new URL(address) : undefined
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined
}

export const LinkForm = ({ answer, input: { url = "" } }: Props) => {
  const messages = useMessages(inputMessages)
  const page = webPageOf(url)
  const isBusy = answer.isPending || answer.isSuccess
  return (
    <div className="input-form">
      <div className="dock-request link-request">
        <p>{page === undefined ? messages.unsafeLink : messages.linkHint}</p>
        {page !== undefined && <p className="link-host">{messages.host(page.host)}</p>}
        <code className="link-address">{visibleLine(url, 4_096)}</code>
        <div className="link-actions">
          {page !== undefined && (
            <a className="button" href={page.href} target="_blank" rel="noreferrer noopener">
              <Icon name="open" />
              {messages.open}
            </a>
          )}
          <CopyButton text={url} label={messages.copy} />
        </div>
      </div>
      <div className="decision-buttons input-buttons">
        <button
          type="button"
          className="button primary"
          disabled={isBusy}
          onClick={() => answer.mutate({ answers: {} })}
        >
          {messages.linkDone}
        </button>
        <SkipButton answer={answer} />
      </div>
    </div>
  )
}
