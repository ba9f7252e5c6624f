/** Where one is signed in, and the end of it elsewhere. */
import type { OpenSignIn } from "@corral/domain/identity/User"
import { useQueryClient } from "@tanstack/react-query"
import { hub } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { oneLine } from "../markdown/visible.ts"
import { useWords } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Time } from "../ui/Time.tsx"
import { accountWords } from "./messages.ts"

interface RowProps {
  readonly signIn: OpenSignIn
  readonly onEnd: () => Promise<void>
}

const SignInRow = ({ onEnd, signIn }: RowProps) => {
  const words = useWords(accountWords)
  const { clientName, createdAt, current, expiresAt, kind, lastUsedAt } = signIn
  const name = clientName === undefined ? words.kinds[kind] : oneLine(clientName, 100)
  return (
    <li className="row">
      <div className="row-main">
        <strong>
          <bdi>{name}</bdi>
        </strong>{" "}
        {current && <span className="badge good">{words.thisOne}</span>}
        <br />
        <span className="quiet">
          {clientName !== undefined && `${words.kinds[kind]} · `}
          {words.begun} <Time at={createdAt} /> · {words.used} <Time at={lastUsedAt} /> · {words.signInUntil}{" "}
          <Time at={expiresAt} />
        </span>
      </div>
      {!current && (
        <ConfirmDialog trigger={words.end} title={words.endTitle(name)} confirm={words.end} onConfirm={onEnd}>
          {words.endText}
        </ConfirmDialog>
      )}
    </li>
  )
}

export const SignIns = () => {
  const words = useWords(accountWords)
  const client = useQueryClient()
  const queryKey = ["signIns"]
  const list = useList(queryKey, ({ page, signal }) => hub.auth.sessions({ query: page, signal }))
  const changed = () => client.invalidateQueries({ queryKey })
  const end = async ({ id }: OpenSignIn): Promise<void> => {
    await hub.auth.endSession({ params: { id } })
    await changed()
  }
  const endOthers = async (): Promise<void> => {
    await hub.auth.endOtherSessions()
    await changed()
  }
  return (
    <>
      {list.items.length > 1 && (
        <div className="part-actions">
          <ConfirmDialog
            trigger={words.endOthers}
            title={words.endOthersTitle}
            confirm={words.endOthers}
            onConfirm={endOthers}
          >
            {words.endText}
          </ConfirmDialog>
        </div>
      )}
      <ul className="rows" aria-label={words.signIns}>
        {list.items.map((signIn) => (
          <SignInRow key={signIn.id} signIn={signIn} onEnd={() => end(signIn)} />
        ))}
      </ul>
      <ListMore list={list} empty={null} />
    </>
  )
}
