/** Who one is here, and what may act in one's place. */
import { usePerson } from "../api/Person.ts"
import { useWords } from "../text/Language.tsx"
import { CopyLine } from "../ui/CopyLine.tsx"
import { Page } from "../ui/Page.tsx"
import { ApiKeys } from "./ApiKeys.tsx"
import { ChatAccounts } from "./ChatAccounts.tsx"
import { SignIns } from "./SignIns.tsx"
import { accountWords } from "./messages.ts"

export const AccountPage = () => {
  const words = useWords(accountWords)
  const { user } = usePerson()
  return (
    <Page title={words.title}>
      <dl className="facts">
        <dt>{words.name}</dt>
        <dd>
          <bdi>{user.name}</bdi>
        </dd>
        {user.email !== undefined && (
          <>
            <dt>{words.email}</dt>
            <dd>{user.email}</dd>
          </>
        )}
        <dt>{words.id}</dt>
        <dd>
          <CopyLine text={user.id} what={words.id} />
          <span className="quiet">{words.idHint}</span>
        </dd>
      </dl>
      <p>
        {words.devicesHint} <a href="/device">{words.deviceCode}</a>
      </p>
      <section aria-label={words.keys}>
        <h2>{words.keys}</h2>
        <ApiKeys />
      </section>
      <section aria-label={words.chats}>
        <h2>{words.chats}</h2>
        <ChatAccounts />
      </section>
      <section aria-label={words.signIns}>
        <h2>{words.signIns}</h2>
        <SignIns />
      </section>
    </Page>
  )
}
