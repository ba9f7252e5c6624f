/** Account page: profile, API keys, chat accounts and sign-ins of the user. A new key is shown once, until the user dismisses it. */
import type { ChatBinding } from "@corral/domain/chat/ChatAccount"
import type { ApiKey, IssuedApiKey } from "@corral/domain/identity/ApiKey"
import type { OpenSignIn } from "@corral/domain/identity/User"
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { visibleLine } from "../markdown/visible.ts"
import { notificationMessages } from "../notification/messages.ts"
import { NotificationToggle } from "../notification/Notifications.tsx"
import { useChangePreferences, usePreferences } from "../preference/StoredPreferences.ts"
import { sentenceSpace, useLanguage, useMessages, usePunctuation } from "../text/Language.tsx"
import { ConfirmDialog, FormDialog } from "../ui/Dialogs.tsx"
import { CopyButton, CopyLine } from "../ui/Copy.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { ListMore } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RowMain } from "../ui/Row.tsx"
import { Time } from "../ui/Time.tsx"
import { accountMessages } from "./messages.ts"
import "./account.css"

const usualHours = { from: "22:00", to: "07:00" }

const browserZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

/** Form part for the quiet hours of the user: a switch, and the times in the time zone of this browser. */
export const QuietHours = () => {
  const messages = useMessages(accountMessages)
  const { colon } = usePunctuation()
  const { quietHours } = usePreferences() ?? {}
  const change = useChangePreferences()
  const store = (hours: { readonly from: string; readonly to: string }) => {
    // A field that is being written has no time.
    if (hours.from === "" || hours.to === "" || hours.from === hours.to) return
    change(() => ({ quietHours: { ...hours, timeZone: browserZone() } }))
  }
  return (
    <>
      <label className="choice">
        <input
          type="checkbox"
          checked={quietHours !== undefined}
          onChange={({ currentTarget: { checked } }) =>
            checked ? store(usualHours) : change(() => ({ quietHours: null }))
          }
        />
        {messages.quietHours}
      </label>
      <p className="quiet">{messages.quietHoursHint}</p>
      {quietHours !== undefined && (
        <div className="quiet-times">
          {(["from", "to"] as const).map((end) => (
            <Field key={end} label={messages[end]}>
              <input
                type="time"
                required
                value={quietHours[end]}
                onChange={({ currentTarget: { value } }) => store({ ...quietHours, [end]: value })}
              />
            </Field>
          ))}
          <span className="quiet">
            {messages.timeZone}
            {colon}
            {quietHours.timeZone}
          </span>
        </div>
      )}
    </>
  )
}

const KeyRow = ({
  apiKey,
  onRemove
}: {
  readonly apiKey: ApiKey
  readonly onRemove: () => Promise<void>
}) => {
  const messages = useMessages(accountMessages)
  const { expiresAt, lastUsedAt, name, scopes } = apiKey
  return (
    <li className="row">
      <RowMain name={name}>
        {scopes.map((scope) => messages[scope]).join(" · ")}, {messages.ends} <Time at={expiresAt} />,{" "}
        {lastUsedAt === undefined ? (
          messages.neverUsed
        ) : (
          <>
            {messages.used} <Time at={lastUsedAt} />
          </>
        )}
      </RowMain>
      <ConfirmDialog
        trigger={messages.revoke}
        title={messages.revokeTitle(name)}
        confirm={messages.revoke}
        onConfirm={onRemove}
      >
        {messages.revokeText}
      </ConfirmDialog>
    </li>
  )
}

/** API keys of the user. A new key is shown once, until the user dismisses it. */
const ApiKeyList = () => {
  const messages = useMessages(accountMessages)
  const client = useQueryClient()
  const [issued, setIssued] = useState<IssuedApiKey>()
  const list = useList(["apiKeys"], ({ page, signal }) => hubApi.apiKeys.list({ query: page, signal }))
  const changed = () => client.invalidateQueries({ queryKey: ["apiKeys"] })
  const create = async (form: FormData): Promise<void> => {
    setIssued(
      await hubApi.apiKeys.create({
        payload: {
          name: textIn(form, "name"),
          scopes: form.has("write") ? ["read", "write"] : ["read"],
          expiresInDays: Number(textIn(form, "days"))
        }
      })
    )
    await changed()
  }
  const remove = async ({ id }: ApiKey): Promise<void> => {
    await hubApi.apiKeys.remove({ params: { id } })
    await changed()
  }
  return (
    <>
      <p className="quiet">{messages.keysHint}</p>
      {issued !== undefined && (
        <div className="notice" role="status">
          <p>
            <strong>{messages.issued}</strong>
          </p>
          <CopyLine text={issued.token} what={messages.theKey} />
          <button type="button" className="button small" onClick={() => setIssued(undefined)}>
            {messages.done}
          </button>
        </div>
      )}
      <div className="part-actions">
        <FormDialog
          trigger={messages.newKey}
          title={messages.newKey}
          submit={messages.newKey}
          onSubmit={create}
        >
          <Field label={messages.keyName} hint={messages.keyNameHint}>
            <input name="name" required maxLength={100} autoComplete="off" />
          </Field>
          <fieldset>
            <legend>{messages.scopes}</legend>
            <label className="choice">
              <input type="checkbox" checked disabled readOnly />
              {messages.read}
            </label>
            <label className="choice">
              <input type="checkbox" name="write" />
              {messages.write}
            </label>
          </fieldset>
          <Field label={messages.days}>
            <input type="number" name="days" required min={1} max={366} defaultValue={90} />
          </Field>
        </FormDialog>
      </div>
      {list.items.length > 0 && (
        <ul className="rows" aria-label={messages.keys}>
          {list.items.map((apiKey) => (
            <KeyRow key={apiKey.id} apiKey={apiKey} onRemove={() => remove(apiKey)} />
          ))}
        </ul>
      )}
      <ListMore list={list} empty={messages.noKeys} rows={1} />
    </>
  )
}

/** Chat accounts linked to the user. */
const ChatAccountList = () => {
  const messages = useMessages(accountMessages)
  const client = useQueryClient()
  const list = useList(["chatBindings"], ({ page, signal }) =>
    hubApi.chatBindings.list({ query: page, signal })
  )
  const unlink = async ({ id }: ChatBinding): Promise<void> => {
    await hubApi.chatBindings.remove({ params: { id } })
    await client.invalidateQueries({ queryKey: ["chatBindings"] })
  }
  return (
    <>
      <p className="quiet">{messages.chatsHint}</p>
      {list.items.length > 0 && (
        <ul className="rows" aria-label={messages.chats}>
          {list.items.map((binding) => (
            <li key={binding.id} className="row">
              <RowMain name={binding.name ?? binding.account}>
                {binding.platform} · {binding.tenant} · {messages.linked} <Time at={binding.createdAt} />
              </RowMain>
              <ConfirmDialog
                trigger={messages.unlink}
                title={messages.unlinkTitle(binding.name ?? binding.account)}
                confirm={messages.unlink}
                onConfirm={() => unlink(binding)}
              >
                {messages.unlinkText}
              </ConfirmDialog>
            </li>
          ))}
        </ul>
      )}
      <ListMore list={list} empty={messages.noChats} rows={1} />
    </>
  )
}

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

/** Active sign-ins of the user, with buttons to end them. */
const SignInList = () => {
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
        <QuietHours />
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
