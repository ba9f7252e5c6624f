/** Active sign-ins of the user, with buttons to end them. */
import type { OpenSignIn } from "@corral/domain/identity/User"
import { useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { RowMain } from "../ui/RowMain.tsx"
import { Time } from "../ui/Time.tsx"
import { accountMessages } from "./messages.ts"

interface RowProps {
  readonly signIn: OpenSignIn
  readonly onEnd: () => Promise<void>
}

const SignInRow = ({ onEnd, signIn }: RowProps) => {
  const messages = useMessages(accountMessages)
  const { clientName, createdAt, current, expiresAt, kind, lastUsedAt } = signIn
  const name = clientName === undefined ? messages.kinds[kind] : visibleLine(clientName, 100)
  return (
    <li className="row">
      <RowMain
        name={name}
        suffix={current ? <span className="badge good">{messages.thisOne}</span> : undefined}
      >
        {clientName !== undefined && `${messages.kinds[kind]} · `}
        {messages.begun} <Time at={createdAt} /> · {messages.used} <Time at={lastUsedAt} /> ·{" "}
        {messages.signInUntil} <Time at={expiresAt} />
      </RowMain>
      {!current && (
        <ConfirmDialog
          trigger={messages.end}
          title={messages.endTitle(name)}
          confirm={messages.end}
          onConfirm={onEnd}
        >
          {messages.endText}
        </ConfirmDialog>
      )}
    </li>
  )
}

export const SignInList = () => {
  const messages = useMessages(accountMessages)
  const client = useQueryClient()
  const queryKey = ["signIns"]
  const list = useList(queryKey, ({ page, signal }) => hubApi.auth.sessions({ query: page, signal }))
  const changed = () => client.invalidateQueries({ queryKey })
  const end = async ({ id }: OpenSignIn): Promise<void> => {
    await hubApi.auth.endSession({ params: { id } })
    await changed()
  }
  const endOthers = async (): Promise<void> => {
    await hubApi.auth.endOtherSessions()
    await changed()
  }
  return (
    <>
      {list.items.length > 1 && (
        <div className="part-actions">
          <ConfirmDialog
            trigger={messages.endOthers}
            title={messages.endOthersTitle}
            confirm={messages.endOthers}
            onConfirm={endOthers}
          >
            {messages.endText}
          </ConfirmDialog>
        </div>
      )}
      <ul className="rows" aria-label={messages.signIns}>
        {list.items.map((signIn) => (
          <SignInRow key={signIn.id} signIn={signIn} onEnd={() => end(signIn)} />
        ))}
      </ul>
      <ListMore list={list} empty={null} rows={1} />
    </>
  )
}
