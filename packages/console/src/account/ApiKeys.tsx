/** API keys of the user. A new key is shown once, until the user dismisses it. */
import type { ApiKey, IssuedApiKey } from "@corral/domain/identity/ApiKey"
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { CopyLine } from "../ui/CopyLine.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { RowMain } from "../ui/RowMain.tsx"
import { Time } from "../ui/Time.tsx"
import { accountMessages } from "./messages.ts"

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

export const ApiKeyList = () => {
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
