/** Account page: profile, API keys, chat accounts and sign-ins of the user. */
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useMessages } from "../text/Language.tsx"
import { CopyLine } from "../ui/CopyLine.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { ApiKeyList } from "./ApiKeys.tsx"
import { ChatAccountList } from "./ChatAccounts.tsx"
import { SignInList } from "./SignIns.tsx"
import { accountMessages } from "./messages.ts"

export const AccountPage = () => {
  const messages = useMessages(accountMessages)
  const { user } = useCurrentUser()
  return (
    <PageFrame title={messages.title}>
      <dl className="facts">
        <dt>{messages.name}</dt>
        <dd>
          <bdi>{user.name}</bdi>
        </dd>
        {user.email !== undefined && (
          <>
            <dt>{messages.email}</dt>
            <dd>{user.email}</dd>
          </>
        )}
        <dt>{messages.id}</dt>
        <dd>
          <CopyLine text={user.id} what={messages.id} />
          <span className="quiet">{messages.idHint}</span>
        </dd>
      </dl>
      <p>
        {messages.devicesHint} <a href="/device">{messages.deviceCode}</a>
      </p>
      <section aria-label={messages.keys}>
        <h2>{messages.keys}</h2>
        <ApiKeyList />
      </section>
      <section aria-label={messages.chats}>
        <h2>{messages.chats}</h2>
        <ChatAccountList />
      </section>
      <section aria-label={messages.signIns}>
        <h2>{messages.signIns}</h2>
        <SignInList />
      </section>
    </PageFrame>
  )
}
