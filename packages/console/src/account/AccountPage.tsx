/** Account page: profile, API keys, chat accounts and sign-ins of the user. */
import { useCurrentUser } from "../api/CurrentUser.ts"
import { NotificationToggle } from "../notification/NotificationToggle.tsx"
import { notificationMessages } from "../notification/messages.ts"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { CopyButton } from "../ui/CopyButton.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { ApiKeyList } from "./ApiKeys.tsx"
import { ChatAccountList } from "./ChatAccounts.tsx"
import { SignInList } from "./SignIns.tsx"
import { accountMessages } from "./messages.ts"
import "./account.css"

export const AccountPage = () => {
  const messages = useMessages(accountMessages)
  const { language } = useLanguage()
  const notifications = useMessages(notificationMessages)
  const { user } = useCurrentUser()
  return (
    <PageFrame title={messages.title}>
      <div className="account-head">
        <div>
          <strong>
            <bdi>{user.name}</bdi>
          </strong>
          {user.email !== undefined && (
            <>
              <br />
              <bdi>{user.email}</bdi>
            </>
          )}
        </div>
        <CopyButton text={user.id} label={messages.copyId} />
      </div>
      <p className="quiet">
        {messages.idHint}
        {sentenceSpace[language]}
        {messages.devicesHint} <a href="/device">{messages.deviceCode}</a>
      </p>
      <section aria-label={notifications.title}>
        <h2>{notifications.title}</h2>
        <NotificationToggle />
      </section>
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
