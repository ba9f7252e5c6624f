/** One device: whether it is there, and what its owner may do with it. */
import type { Device, UpdateDevice } from "@corral/domain/device/Device"
import { useQueryClient } from "@tanstack/react-query"
import { hub } from "../api/Hub.ts"
import { usePerson } from "../api/Person.ts"
import { useWords } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { ShortId } from "../ui/ShortId.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { ShareDevice } from "./ShareDevice.tsx"
import { deviceWords } from "./messages.ts"

const OwnerActions = ({ device: { id, name, sharedWith, state } }: { readonly device: Device }) => {
  const words = useWords(deviceWords)
  const client = useQueryClient()
  const changed = () => client.invalidateQueries({ queryKey: ["devices"] })
  const update = async (payload: UpdateDevice): Promise<void> => {
    await hub.devices.update({ params: { id }, payload })
    await changed()
  }
  const remove = async (): Promise<void> => {
    await hub.devices.remove({ params: { id } })
    await changed()
  }
  if (state === "revoked")
    return (
      <ConfirmDialog
        trigger={words.remove}
        title={words.removeTitle(name)}
        confirm={words.remove}
        onConfirm={remove}
      >
        {words.removeText}
      </ConfirmDialog>
    )
  return (
    <>
      <ShareDevice name={name} sharedWith={sharedWith} onShare={(chosen) => update({ sharedWith: chosen })} />
      <FormDialog
        trigger={words.rename}
        triggerClass="button small"
        title={words.rename}
        submit={words.save}
        onSubmit={(form) => update({ name: textIn(form, "name") })}
      >
        <Field label={words.name}>
          <input name="name" required maxLength={100} defaultValue={name} autoComplete="off" />
        </Field>
      </FormDialog>
      <ConfirmDialog
        trigger={words.revoke}
        title={words.revokeTitle(name)}
        confirm={words.revoke}
        onConfirm={() => update({ state: "revoked" })}
      >
        {words.revokeText}
      </ConfirmDialog>
    </>
  )
}

export const DeviceRow = ({ device }: { readonly device: Device }) => {
  const words = useWords(deviceWords)
  const { user } = usePerson()
  const { id, lastSeenAt, name, ownerId, sharedWith, state, version } = device
  const isOwn = ownerId === user.id
  return (
    <li className="row">
      <div className="row-main">
        <strong>
          <bdi>{name}</bdi>
        </strong>{" "}
        <ShortId id={id} />
        <br />
        <span className="quiet">
          {[
            isOwn ? words.yours : undefined,
            version,
            sharedWith.length > 0 ? words.shared(sharedWith.length) : undefined
          ]
            .filter((part) => part !== undefined)
            .join(" · ")}
        </span>
      </div>
      <div className="row-side">
        <StateBadge state={state} />
        {state !== "online" && (
          <span className="quiet">
            {lastSeenAt === undefined ? (
              words.never
            ) : (
              <>
                {words.seen} <Time at={lastSeenAt} />
              </>
            )}
          </span>
        )}
        {isOwn && <OwnerActions device={device} />}
      </div>
    </li>
  )
}
