/**
 * Type of a message as an agent sent it: field names of the protocol's schema, values unknown until a reader of `text/Json` narrows them.
 *
 * Guarantees: reading a field that the schema does not have is a type error.
 * Does not: check anything at run time. Unknown fields and kinds pass.
 */
type FieldsOf<Message> = Message extends unknown ? keyof Message : never

/** Every field that a message, or any member of a union of messages, may have. */
export type UnverifiedFields<Message> = { readonly [Field in FieldsOf<Message>]?: unknown }
