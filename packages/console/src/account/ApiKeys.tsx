/** One's API keys. A new key is shown once, on this page, until it is put away. */
import type { ApiKey, IssuedApiKey } from "@corral/domain/identity/ApiKey"
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { hub } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { useWords } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { CopyLine } from "../ui/CopyLine.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Time } from "../ui/Time.tsx"
import { accountWords } from "./messages.ts"

const KeyRow = ({
  apiKey,
  onRemove
}: {
  readonly apiKey: ApiKey
  readonly onRemove: () => Promise<void>
}) => {
  const words = useWords(accountWords)
  const { expiresAt, lastUsedAt, name, scopes } = apiKey
  return (
    <li className="row">
      <div className="row-main">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        <br />
        <span className="quiet">
          {scopes.map((scope) => words[scope]).join(" · ")}, {words.ends} <Time at={expiresAt} />,{" "}
          {lastUsedAt === undefined ? (
            words.neverUsed
          ) : (
            <>
              {words.used} <Time at={lastUsedAt} />
            </>
          )}
        </span>
      </div>
      <ConfirmDialog
        trigger={words.revoke}
        title={words.revokeTitle(name)}
        confirm={words.revoke}
        onConfirm={onRemove}
      >
        {words.revokeText}
      </ConfirmDialog>
    </li>
  )
}

export const ApiKeys = () => {
  const words = useWords(accountWords)
  const client = useQueryClient()
  const [issued, setIssued] = useState<IssuedApiKey>()
  const list = useList(["apiKeys"], ({ page, signal }) => hub.apiKeys.list({ query: page, signal }))
  const changed = () => client.invalidateQueries({ queryKey: ["apiKeys"] })
  const create = async (form: FormData): Promise<void> => {
    setIssued(
      await hub.apiKeys.create({
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
    await hub.apiKeys.remove({ params: { id } })
    await changed()
  }
  return (
    <>
      <p className="quiet">{words.keysHint}</p>
      {issued !== undefined && (
        <div className="notice" role="status">
          <p>
            <strong>{words.issued}</strong>
          </p>
          <CopyLine text={issued.token} what={words.theKey} />
          <button type="button" className="button small" onClick={() => setIssued(undefined)}>
            {words.done}
          </button>
        </div>
      )}
      <div className="part-actions">
        <FormDialog trigger={words.newKey} title={words.newKey} submit={words.newKey} onSubmit={create}>
          <Field label={words.keyName} hint={words.keyNameHint}>
            <input name="name" required maxLength={100} autoComplete="off" />
          </Field>
          <fieldset>
            <legend>{words.scopes}</legend>
            <label className="choice">
              <input type="checkbox" checked disabled readOnly />
              {words.read}
            </label>
            <label className="choice">
              <input type="checkbox" name="write" />
              {words.write}
            </label>
          </fieldset>
          <Field label={words.days}>
            <input type="number" name="days" required min={1} max={366} defaultValue={90} />
          </Field>
        </FormDialog>
      </div>
      {list.items.length > 0 && (
        <ul className="rows" aria-label={words.keys}>
          {list.items.map((apiKey) => (
            <KeyRow key={apiKey.id} apiKey={apiKey} onRemove={() => remove(apiKey)} />
          ))}
        </ul>
      )}
      <ListMore list={list} empty={words.noKeys} />
    </>
  )
}
